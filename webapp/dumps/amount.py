"""How many values a text or a message would become: two bytes can be an object of two hundred in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from webapp.dumps.records import TooLarge

PACKED_CHARACTERS = 8 * 1024 * 1024
PACKED_VALUES = 400_000
"""of one item of a packed upload: some 300 MB in memory at most"""
_packed: ContextVar[int | None] = ContextVar("packed", default=None)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_QUOTED_BYTES = re.compile(_QUOTED.pattern.encode(), re.DOTALL)


@contextmanager
def of_packed(size: int | None) -> Iterator[None]:
    """Until the end, items hold no more than fits a packed upload of `size` bytes; None lets them be as large as any.

    A kilobyte that was packed may become an item of 64 million characters, which takes a gigabyte while it is read.
    """
    token = _packed.set(size)
    try:
        yield
    finally:
        _packed.reset(token)


def most_characters(most: int) -> int:
    """Of one item: `most`, or less where its upload is packed."""
    size = _packed.get()
    return most if size is None else min(most, max(PACKED_CHARACTERS, 2 * size))


def most_values(most: int) -> int:
    """Values of one item: `most`, or fewer where its upload is packed."""
    size = _packed.get()
    return most if size is None else min(most, max(PACKED_VALUES, size // 8))


def where_more_may() -> str:
    """What to add to the words about what is too large."""
    larger = " of compressed data; sent uncompressed, or read by `fencepost ingest`, it may be larger"
    return "" if _packed.get() is None else larger


class Allowance:
    """Values that one request or one item may still become. Raises `TooLarge` where they are used up."""

    def __init__(self, values: int) -> None:
        self.values = self.left = values

    def take(self, count: int, at: str) -> None:
        self.left -= count
        if self.left < 0:
            raise TooLarge(f"it holds more than {self.values:,} values, the maximum", at)


def check_json(text: str | bytes, allowance: Allowance, at: int = 0) -> None:
    """Take from `allowance` what the JSON `text` would become: its commas, and four for each bracket that opens.

    A list, an object and its first key take the room of four numbers. Marks in strings are left out where they matter.
    """
    count = _marks(text, at)
    if count > allowance.left:
        bare = _QUOTED.sub("", text[at:]) if isinstance(text, str) else _QUOTED_BYTES.sub(b"", text[at:])
        count = _marks(bare, 0)
    allowance.take(count, f"character {at}")


def _marks(text: str | bytes, at: int) -> int:
    if isinstance(text, str):
        return text.count(",", at) + 4 * (text.count("[", at) + text.count("{", at))
    return text.count(b",", at) + 4 * (text.count(b"[", at) + text.count(b"{", at))

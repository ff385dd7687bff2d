"""How many values a text or a message would become: two bytes can be an object of two hundred in memory."""

from __future__ import annotations

import re

from webapp.dumps.records import TooLarge

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_QUOTED_BYTES = re.compile(_QUOTED.pattern.encode(), re.DOTALL)


class Allowance:
    """Values that one request or one item may still become. Raises `TooLarge` where they are used up."""

    def __init__(self, values: int) -> None:
        self.values = self.left = values

    def take(self, count: int, at: str) -> None:
        self.left -= count
        if self.left < 0:
            raise TooLarge(f"it holds more than {self.values:,} values, the most that is taken at once", at)


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

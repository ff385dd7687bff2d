"""What reading one file may take, one object for all of it: bytes that come out, the size of an item, processor time.

Two bytes can be an object of two hundred in memory, a kilobyte a gigabyte, and a column an endless sum. Whatever makes
more of a file than was sent asks the budget: what unpacks with `take`, what computes with `timed`, and what holds one
item whole with `characters` and `values`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from time import thread_time
from typing import TypeVar

from webapp.refusals import BadInput

PIECE = 1024 * 1024
RATIO = 200
"""Logs of real agents shrink 5 to 40 times; what shrinks more than this is a bomb …"""
FREE = 64 * PIECE
"""… but only once this much has come out, so that a small repetitive file is no bomb."""
MOST_BYTES = 16 * 1024 * PIECE
"""that come out of one file, whatever its size"""
MOST_CHARACTERS, MOST_VALUES = 64 * PIECE, 3_000_000
"""of one item, which is decoded whole, some six times over: a line, an entry, a body, a cell, a plain text"""
MOST_WHOLE = 512 * PIECE
"""of one that a program wrote in one piece: a member of an archive, a resource's spans"""
STRICT_CHARACTERS, STRICT_VALUES = 8 * PIECE, 400_000
"""of one item of a packed upload: some 300 MB in memory at most"""
STRICT_RECORDS = 100_000
"""of a packed upload, however small: some seconds of processor time"""
DEEPEST = 100
"""levels of YAML, msgpack and protobuf; of JSON see `decoding.MAX_DEPTH`"""
MOST_SECONDS = 3
"""of processor time for what a file makes us compute, and one more for each megabyte of it"""
_T = TypeVar("_T")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)


class BadDump(BadInput):
    """The dump as a whole cannot be read. `at` names the place ("byte 17", "line 3", "entries[5]")."""

    status, code = 422, "bad_dump"

    def __init__(self, reason: str, at: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


class LeftToWorker(Exception):
    """A library makes the rows of this file, which no request waits for; `path` is the file, where it was kept."""

    path: Path | None = None


class TooLarge(BadDump):
    """The dump is larger than is taken, or a decompression bomb; nothing of it is kept."""

    status, code = 413, "too_large"


@dataclass(slots=True)
class Budget:
    """Of a file of which `came` bytes were sent so far. `take` and `timed` raise `TooLarge` where it is used up."""

    came: int = 0
    most: int = MOST_BYTES
    free: int = FREE
    is_strict: bool = False
    """whether a request brought it packed: a kilobyte may be an item of 64 million characters, a gigabyte in memory"""
    leaves_rows: bool = False
    """whether what a library makes rows of is left to the worker, which may die over it"""
    is_shared: bool = False
    """whether it is one for all archives in an archive, each of which takes from it"""
    out: int = 0
    members: int = 0
    """of archives that were opened"""
    spent: float = 0.0
    """seconds of processor time"""
    _since: float | None = None

    def take(self, count: int, at: str) -> None:
        """So many bytes more came out."""
        self.out += count
        if self.out > self.most:
            size = f"{self.most // PIECE:,} MB" if self.most >= PIECE else f"{self.most} bytes"
            raise TooLarge(f"it is larger than {size}, the most that is taken", at)
        if self.out > max(self.free, RATIO * self.came):
            raise TooLarge(f"a decompression bomb: {self.came} bytes became more than {self.out // PIECE} MB", at)

    def make_rows(self) -> None:
        """A library is to make rows of a file. Raises `LeftToWorker` in a request."""
        if self.leaves_rows:
            raise LeftToWorker

    def timed(self, items: Iterable[_T], at: str) -> Iterator[_T]:
        """The items; making them takes time, what is done with them does not count."""
        iterator = iter(items)
        while True:
            with self.spending():
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            self.check_time(at)
            yield item

    @contextmanager
    def spending(self) -> Iterator[Budget]:
        """What is done until the end takes time of the file."""
        self._since = thread_time()
        try:
            yield self
        finally:
            self.spent, self._since = self.spent + thread_time() - self._since, None

    def check_time(self, at: str) -> None:
        if self.is_late():
            raise TooLarge(f"reading it took more than {self.most_seconds} seconds of processor time", at)

    @property
    def most_seconds(self) -> int:
        return MOST_SECONDS + self.came // PIECE

    def is_late(self) -> bool:
        """Whether the time is used up, also while the next item is being made."""
        return self.spent + (0 if self._since is None else thread_time() - self._since) > self.most_seconds

    def characters(self, most: int | None = None) -> int:
        """Of one item: `MOST_CHARACTERS`, or `most`; fewer where the upload is packed."""
        most = most or MOST_CHARACTERS
        return min(most, max(STRICT_CHARACTERS, 2 * self.came)) if self.is_strict else most

    @property
    def values(self) -> int:
        """that one item may have: its commas, and four for each bracket (see `check_json`)"""
        return min(MOST_VALUES, max(STRICT_VALUES, self.came // 8)) if self.is_strict else MOST_VALUES

    def too_long(self, size: int, most: int | None = None) -> str | None:
        """What is wrong with one item of `size`; None where it may have so much, see `characters`."""
        if size <= (most := self.characters(most)):
            return None
        return f"longer than {most // PIECE} MB, the most that one item may hold{self.where_more_may}"

    @property
    def where_more_may(self) -> str:
        """What to add to the words about what is too large."""
        larger = " in what is packed; sent as plain text, or read by `fencepost ingest`, it may be larger"
        return larger if self.is_strict else ""

    def check_records(self, count: int, of: str) -> None:
        """So many records, or rows, were made. A packed upload may have one for each four bytes that were sent."""
        if self.is_strict and count > max(STRICT_RECORDS, self.came // 4):
            raise TooLarge(f"it has more than {count - 1:,} records, the most{self.where_more_may}", f"{of} {count:,}")

    def anew(self) -> Budget:
        """The same for one more pass over the file; itself where it is shared."""
        return self if self.is_shared else replace(self, out=0, members=0)


_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def reading(budget: Budget) -> Iterator[Budget]:
    """Until the end, all that is read is of this budget."""
    token = _CURRENT.set(budget)
    try:
        yield budget
    finally:
        _CURRENT.reset(token)


def current(start: int = 0) -> Budget:
    """The budget of the file that is being read; one of its own for `came` bytes that nobody set one for."""
    return _CURRENT.get() or Budget(start)


class Allowance:
    """Values that one request or one item may still become. Raises `TooLarge` where they are used up."""

    def __init__(self, values: int | None = None) -> None:
        """As many as an item of the file that is being read may have, or so many."""
        self.values = self.left = current().values if values is None else values

    def take(self, count: int, at: str) -> None:
        self.left -= count
        if self.left < 0:
            words = current().where_more_may
            raise TooLarge(f"it holds more than {self.values:,} values, the maximum{words}", at)


def check_json(text: str | bytes, allowance: Allowance, at: int = 0) -> None:
    """Take from `allowance` what the JSON `text` would become: its commas, and four for each bracket that opens.

    A list, an object and its first key take the room of four numbers. Marks in strings are left out where they matter.
    """
    if 4 * (len(text) - at) > allowance.left:
        plain = text if isinstance(text, str) else text.decode("latin-1")
        count = _marks(plain, at)
        allowance.take(count if count <= allowance.left else _marks(_QUOTED.sub("", plain[at:]), 0), f"character {at}")


def _marks(text: str, at: int) -> int:
    return text.count(",", at) + 4 * (text.count("[", at) + text.count("{", at))

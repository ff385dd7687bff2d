"""How far an ingest is, told while it goes on, and the wish that it stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from webapp.dumps.records import Turn

EVERY = 0.5
"""seconds between two tellings"""
_TURNS = 100


class Stopped(Exception):
    """The ingest is to end before all was read; `cancelled` says that a person asked for it."""

    def __init__(self, cancelled: bool) -> None:
        super().__init__("cancelled" if cancelled else "stopped")
        self.cancelled = cancelled


@dataclass(slots=True)
class Progress:
    """What was done so far; `tell` gets it at most twice a second and may raise `Stopped`.

    `phase` is receiving, unpacking, keeping, looking (through the file, before the first turn) or storing, and
    `read` counts the `bytes` that it has to go through. `dump` is the dump's number once it has one.
    Of an export it is exporting, or paused for an import; `read` counts the bytes that were written, `sessions` those
    that are in it, and `chosen` how many there are to be.
    """

    tell: Callable[[Progress], None] = lambda _: None
    phase: str = "receiving"
    read: int = 0
    bytes: int = 0
    turns: int = 0
    sessions: int = 0
    problems: int = 0
    chosen: int | None = None
    format: str | None = None
    dump: int | None = None
    told_at: float = 0.0

    def begin(self, phase: str, size: int) -> None:
        """Another phase, over `size` bytes; told at once."""
        self.phase, self.read, self.bytes = phase, 0, size
        self.told_at = time.monotonic()
        self.tell(self)

    def advance(self, count: int) -> None:
        """`count` bytes were read."""
        self.read += count
        self.moved()

    def first_turn(self) -> None:
        """Turns come now. A file that was gone through to find its sessions is gone through once more."""
        self.phase = "storing"
        if self.read > self.bytes // 2:
            self.read = 0

    def moved(self) -> None:
        """Tell how far it is, where that was not done just now."""
        now = time.monotonic()
        if now - self.told_at >= EVERY:
            self.told_at = now
            self.tell(self)

    def each(self, turns: Iterable[Turn]) -> Iterable[Turn]:
        """`turns`, to be gone through any number of times, so that a long session can be stopped within."""
        return _Turns(self, turns)

    def file(self, stream: BinaryIO) -> BinaryIO:
        """`stream`, of which each piece that is read is told."""
        return cast(BinaryIO, _Pieces(self, stream))


@dataclass(frozen=True, slots=True)
class _Turns:
    progress: Progress
    turns: Iterable[Turn]

    def __iter__(self) -> Iterator[Turn]:
        for number, turn in enumerate(self.turns):
            if number % _TURNS == 0:
                self.progress.moved()
            yield turn


@dataclass(frozen=True, slots=True)
class _Pieces:
    progress: Progress
    stream: BinaryIO

    def read(self, size: int = -1) -> bytes:
        piece = self.stream.read(size)
        self.progress.advance(len(piece))
        return piece

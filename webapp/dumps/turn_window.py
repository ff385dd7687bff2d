"""Holds turns back for a little while, so that what comes later can still be noted on them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from webapp.dumps.records import Problem, Turn

LOOKAHEAD = 64
"""How many turns are held back at most."""
MOST_TEXT = 8 * 1024 * 1024
"""Characters held back at most, whatever the count of turns."""

Side = tuple[str, int]
"""The kind of a pair, and which of its two sides: see `logged_twice`."""


@dataclass(slots=True, eq=False)
class Slot:
    """A turn on its way through the window; `side` and `call` say what it still waits for."""

    turn: Turn | Problem
    side: Side | None = None
    call: str | None = None


class TurnWindow:
    """The slots that are held back, in order."""

    def __init__(self) -> None:
        self._slots: deque[Slot] = deque()
        self._size = 0

    def push(self, slot: Slot) -> Iterator[Slot]:
        """Take a slot in; gives those that must leave for it."""
        self._slots.append(slot)
        self._size += _size(slot)
        while len(self._slots) > LOOKAHEAD or self._size > MOST_TEXT:
            self._size -= _size(self._slots[0])
            yield self._slots.popleft()

    def rest(self) -> Iterator[Slot]:
        """All that is held back still."""
        while self._slots:
            yield self._slots.popleft()


def _size(slot: Slot) -> int:
    return len(slot.turn.raw or "") if isinstance(slot.turn, Turn) else 0

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

    size: int = 0
    """characters of its text, as it came"""


class TurnWindow:
    """The slots that are held back, in order; who derives from it knows what to forget of one that leaves."""

    def __init__(self) -> None:
        self._slots: deque[Slot] = deque()
        self._size = 0

    def leave(self, slot: Slot) -> Turn | Problem:
        """The turn of a slot that leaves, for which nothing waits any more."""
        raise NotImplementedError

    def push(self, slot: Slot) -> Iterator[Turn | Problem]:
        """Take a slot in; gives the turns that must leave for it."""
        self._slots.append(slot)
        slot.size = len(slot.turn.raw or "") if isinstance(slot.turn, Turn) else 0
        self._size += slot.size
        while len(self._slots) > LOOKAHEAD or self._size > MOST_TEXT:
            self._size -= self._slots[0].size
            yield self.leave(self._slots.popleft())

    def rest(self) -> Iterator[Turn | Problem]:
        """All that is held back still."""
        while self._slots:
            yield self.leave(self._slots.popleft())

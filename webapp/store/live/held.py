"""Holds what is known of the sessions that grew last, so that the next spans cost nothing that grows with them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from webapp.store.facets import Facets
from webapp.store.live.places import PlacedTally
from webapp.store.live.reading import Tail

MOST_HELD = 64 * 1024 * 1024
"""bytes, about; sessions that grew longest ago go first, and are read again when they grow"""
_A_TURN, _A_SESSION = 40, 20_000
"""bytes of the tally's arrays, and of all that does not grow"""


@dataclass(slots=True)
class State:
    """What growing a session needs of all that is stored of it; good while the session's `changed` is the same."""

    changed: int
    tally: PlacedTally
    facets: Facets
    raw_bytes: int
    searched: bool
    tail: Tail | None = None

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        return _A_SESSION + _A_TURN * len(self.tally.positions) + (self.tail.size if self.tail else 0)


class Held:
    """States by session, the one that grew last at the end."""

    def __init__(self) -> None:
        self._states: OrderedDict[int, tuple[State, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._states)

    def get(self, session_id: int) -> State | None:
        found = self._states.get(session_id)
        return None if found is None else found[0]

    def take(self, session_id: int) -> State | None:
        """The state of a session, which is held no longer: who writes the session puts it back once that is sure."""
        state, size = self._states.pop(session_id, (None, 0))
        self._size -= size
        return state

    def put(self, session_id: int, state: State) -> None:
        self.take(session_id)
        self._states[session_id] = (state, state.size)
        self._size += state.size
        while self._size > MOST_HELD:
            self._size -= self._states.popitem(last=False)[1][1]

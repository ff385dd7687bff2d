"""Holds what is known of the sessions that grew last, so that the next spans cost nothing that grows with them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import sqlalchemy as sa

from webapp.store.live.reading import Tail
from webapp.store.models import Session
from webapp.store.write.session_state import SessionState

MOST_HELD = 64 * 1024 * 1024
"""bytes, about; sessions that grew longest ago go first, and are read again when they grow"""
find_changed = sa.select(Session.changed).where(Session.id == sa.bindparam("session"))
_A_TURN, _A_SESSION = 40, 20_000
"""bytes of the tally's arrays, and of all that does not grow"""


@dataclass(slots=True)
class LiveState:
    """What growing a session needs of all that is stored of it; good while the session's `changed` is the same."""

    changed: int
    session: SessionState
    searched: bool
    tail: Tail | None = None

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        return _A_SESSION + _A_TURN * len(self.session.tally.positions) + (self.tail.size if self.tail else 0)


class StateCache:
    """States by session, the one that grew last at the end."""

    def __init__(self) -> None:
        self._states: OrderedDict[int, tuple[LiveState, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._states)

    def get(self, session_id: int) -> LiveState | None:
        state = self._states.get(session_id)
        return None if state is None else state[0]

    def take(self, session_id: int) -> LiveState | None:
        """The state of a session, which is held no longer: who writes the session puts it back once that is sure."""
        state, size = self._states.pop(session_id, (None, 0))
        self._size -= size
        return state

    def put(self, session_id: int, state: LiveState) -> None:
        self.take(session_id)
        self._states[session_id] = (state, state.size)
        self._size += state.size
        while self._size > MOST_HELD:
            self._size -= self._states.popitem(last=False)[1][1]

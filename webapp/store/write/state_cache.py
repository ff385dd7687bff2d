"""Holds the states of sessions that grew last, so that growing again folds what is new and nothing else."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

import sqlalchemy as sa

from webapp.store.models import Session
from webapp.store.write.session_state import SessionState

MOST_HELD = 64 * 1024 * 1024
"""bytes, about; sessions that grew longest ago go first, and are read again when they grow"""
find_changed = sa.select(Session.changed).where(Session.id == sa.bindparam("session"))
_A_TURN, _A_SESSION = 40, 60_000
"""bytes of the tally's arrays, and of all that hardly grows: what a server grew by over 330 short sessions"""


@dataclass(slots=True)
class GrownState:
    """A session's state, good while the session's `changed` is the same."""

    changed: int
    session: SessionState

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        return size_of(self.session)


def size_of(state: SessionState) -> int:
    """Bytes that a state takes, about."""
    return _A_SESSION + _A_TURN * len(state.tally.positions)


_State = TypeVar("_State", bound=GrownState)


class StateCache(Generic[_State]):
    """States by session, the one that grew last at the end.

    Who grows a session takes its state, and puts it back once what it wrote is committed. Of more than `most` bytes
    those at the beginning go.
    """

    def __init__(self, most: int = MOST_HELD) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._states: OrderedDict[int, tuple[_State, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._states)

    def get(self, session_id: int) -> _State | None:
        with self._lock:
            state = self._states.get(session_id)
        return None if state is None else state[0]

    def take(self, session_id: int, changed: int | None) -> _State | None:
        """The state of a session, None where none is held or the session changed otherwise since."""
        with self._lock:
            state = self._pop(session_id)
        return state if state is not None and state.changed == changed else None

    def put(self, state: _State) -> None:
        state.session.index = None
        with self._lock:
            self._pop(state.session.session_id)
            self._states[state.session.session_id] = (state, size := state.size)
            self._size += size
            while self._size > self.most:
                self._size -= self._states.popitem(last=False)[1][1]

    def _pop(self, session_id: int) -> _State | None:
        state, size = self._states.pop(session_id, (None, 0))
        self._size -= size
        return state

"""Holds the states of sessions that dumps made grow last, so that growing again folds what is new and nothing else."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from webapp.store.write.session_state import SessionState

MOST_SESSIONS = 64
MOST_TURNS = 1_000_000
"""of all states together; those that grew longest ago go first"""


class GrownState(NamedTuple):
    """A session's state, good while the session's `changed` is the same."""

    changed: int
    state: SessionState


class GrownStates:
    """States by session. Who grows a session takes its state, and puts it back once what it wrote is committed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: OrderedDict[int, GrownState] = OrderedDict()

    def take(self, session_id: int, changed: int | None) -> SessionState | None:
        """The state of a session, None where none is held or the session changed otherwise since."""
        with self._lock:
            held = self._states.pop(session_id, None)
        return held.state if held is not None and held.changed == changed else None

    def put(self, grown: GrownState) -> None:
        grown.state.index = None
        with self._lock:
            self._states[grown.state.session_id] = grown
            self._states.move_to_end(grown.state.session_id)
            while len(self._states) > MOST_SESSIONS or self._turns() > MOST_TURNS:
                self._states.popitem(last=False)

    def _turns(self) -> int:
        return sum(len(held.state.tally.positions) for held in self._states.values())


_states: WeakKeyDictionary[sa.Engine, GrownStates] = WeakKeyDictionary()
_states_lock = threading.Lock()


def of(engine: sa.Engine) -> GrownStates:
    """Those of the engine's database in this process."""
    with _states_lock:
        return _states.setdefault(engine, GrownStates())

"""An index of failed responses in memory, one a process, database and profile that they are looked at under.

It follows the index of sessions (`store.index`): a session that changed there is read again here. What is new lies in a
second, small segment until it is worth putting both together.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store import index
from webapp.store.db.database import PerEngine
from webapp.store.failures import failure_reader
from webapp.store.failures.failure_reader import StoredFailure
from webapp.store.failures.segment import Segment, segment
from webapp.store.index.bit_sliced_index import NONE, Bits
from webapp.store.index.state import State
from webapp.store.models import TURNS_A_SESSION
from webapp.store.sessions.filters import HOME

MOST_PROFILES = 4
"""indexes that are kept at once; that of another profile takes the place of the one that was longest not asked for"""
_LEAST_MERGED = 4_000
_EMPTY = segment(())


@dataclass(frozen=True, slots=True)
class Part:
    """A segment, and the places in it that hold: the others are of sessions that were read again, or are gone."""

    segment: Segment
    alive: Bits


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The failed responses under a profile, as of one state of the index of sessions."""

    under: str
    state: State
    parts: tuple[Part, ...]


class _FailureIndex:
    def __init__(self, under: str) -> None:
        self.under = under
        self.lock = threading.Lock()
        self.snapshot: Snapshot | None = None
        self.recent: dict[int, list[StoredFailure]] = {}

    def fresh(self, connection: sa.Connection, state: State) -> Snapshot:
        with self.lock:
            old = self.snapshot
            if old is not None and old.state is state:
                return old
            if old is not None and state.follows(old.state):
                self.snapshot = self._refreshed(connection, old, state)
            else:
                self.snapshot = self._whole(state, failure_reader.everything(connection, state, self.under))
            return self.snapshot

    def _whole(self, state: State, failures: list[StoredFailure]) -> Snapshot:
        """All of them in one segment, and none that is recent."""
        self.recent = {}
        base = segment(failures)
        return Snapshot(self.under, state, (Part(base, base.all), Part(_EMPTY, NONE)))

    def _refreshed(self, connection: sa.Connection, old: Snapshot, state: State) -> Snapshot:
        changed = {*state.ids(range(old.state.size, state.size)), *state.ids(old.state.alive - state.alive)}
        if not changed:
            return Snapshot(self.under, state, old.parts)
        base = old.parts[0]
        base = Part(base.segment, base.alive - base.segment.of_sessions(changed))
        for session_id in changed:
            self.recent.pop(session_id, None)
        for failure in failure_reader.of_sessions(connection, state, self.under, changed):
            self.recent.setdefault(failure.turn_id // TURNS_A_SESSION, []).append(failure)
        recent = [failure for failures in self.recent.values() for failure in failures]
        if len(recent) > max(_LEAST_MERGED, len(base.segment.failures) // 10):
            return self._whole(state, [*(base.segment.failures[place] for place in base.alive), *recent])
        newest = segment(recent)
        return Snapshot(self.under, state, (base, Part(newest, newest.all)))


_indexes = PerEngine(lambda: lru_cache(maxsize=MOST_PROFILES)(_FailureIndex))


def current(db: orm.Session, under: str) -> Snapshot:
    """The failed responses of the session's database as they are now, looked at `under` a profile, or "home"."""
    state = index.current(db)
    connection = db.connection()
    return _indexes(connection.engine)(under).fresh(connection, state)


def warm(engine: sa.Engine) -> None:
    """Read the index of what failed under home now, so that no request has to wait for it."""
    with orm.Session(engine) as db:
        current(db, HOME)

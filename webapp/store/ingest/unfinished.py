"""Writes a long new session a few turns a transaction, hidden as a deleted one is until its last turn is there.

SQLite has one writer: whoever labels or sends spans waits while a few turns are written, and not until all are parsed.
What a killed process leaves is purged with what was deleted: see `store.sessions.deletion`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import sqlalchemy as sa

from webapp.dumps.records import Problem
from webapp.store import search
from webapp.store.db import database, ids
from webapp.store.models import Session
from webapp.store.sessions import deletion
from webapp.store.write import derived
from webapp.store.write.parser import SessionParser
from webapp.store.write.session_rows import SessionInput, SessionRows, columns
from webapp.store.write.session_state import SessionState
from webapp.store.write.session_writer import SessionWriter
from webapp.store.write.writing import SessionOutcome, is_taken, lock

_insert = sa.insert(Session).returning(Session.id)
_write_on = sa.update(Session).where(Session.id == sa.bindparam("session")).values(deleted_at=sa.bindparam("now"))


@dataclass(slots=True)
class UnfinishedSession:
    """A session whose turns are all written, which nobody sees yet."""

    engine: sa.Engine
    given: SessionInput
    state: SessionState
    problems: list[Problem] = field(default_factory=list)
    count: int = 0

    def show(self, connection: sa.Connection) -> SessionOutcome | None:
        """Make it a session like any other; None where somebody else has stored it meanwhile. The caller commits."""
        start = self.given.start
        external_id = ids.shortened(start.external_id)
        key = ids.key(external_id, 1)
        lock(connection, external_id)
        if is_taken(connection, external_id, key):
            return None
        search.index_notes(connection, search.session_notes(self.state.session_id, external_id, start.title))
        derived.store(connection, self.state, external_id=external_id, key=key, deleted_at=None)
        self.state.index = None
        return SessionOutcome("new", self.state.session_id, key, self.count)

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        """One of many, in which it is said too that the session is still being written, and is not to be purged."""
        with database.writing_long(self.engine) as connection:
            yield connection
            connection.execute(_write_on, {"session": self.state.session_id, "now": datetime.now(UTC)})

    def write(self) -> None:
        session_rows = SessionRows(self.state, SessionParser(self.given.home.profile), self.problems.append)
        self.count = SessionWriter(self._transaction, session_rows, own_index=True).append(self.given.turns)
        self.state.settle(more_may_come=True)


@contextmanager
def written(
    engine: sa.Engine, given: SessionInput, dump_id: Callable[[sa.Connection], int]
) -> Iterator[UnfinishedSession]:
    """Write all turns of `given`, which may be any number, as a hidden session, for `show`; else it is removed."""
    secret = secrets.token_hex(8)
    values = columns(given.start, f"unfinished-{secret}", 1, secret, given.home)
    with database.writing(engine) as connection:
        values |= {"dump_id": dump_id(connection), "deleted_at": datetime.now(UTC)}
        session_id = connection.scalars(_insert, values).one()
    state = SessionState.of_nothing(session_id, given.home.profile, search.Pending())
    session = UnfinishedSession(engine, given, state)
    try:
        session.write()
        yield session
    finally:
        with suppress(sa.exc.DBAPIError):  # a full disk: it is purged later then
            deletion.discard(engine, session_id)

"""Stores several small sessions in one transaction: each whole or not at all, and none waits long to be seen."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Generic

import sqlalchemy as sa

from webapp.store import search
from webapp.store.db import database, write_queue
from webapp.store.ingest.beside import Beside, Outcomes, T, Write

MOST_SECONDS = 0.5
"""how long a transaction is open at most before the session that is being written is its last"""


@dataclass(slots=True)
class Batch(Generic[T]):
    """One transaction after the other; `on_commit` hears what became of the sessions of each, once that is sure.

    PostgreSQL has one for each session: two readers that lock the same ids in another order would wait for each other.
    It is indexed and committed by a thread of its own, while what comes next is read and prepared. What is `put` is
    written beside this thread as well.
    """

    engine: sa.Engine
    on_commit: Callable[[Outcomes], None]
    index: search.Pending = field(default_factory=search.Pending)
    outcomes: Outcomes = field(default_factory=list)
    """of the sessions of the open transaction"""
    _stack: ExitStack = field(default_factory=ExitStack)
    _connection: sa.Connection | None = None
    _until: float = 0.0
    _beside: Beside[T] | None = None

    def put(self, write: Write[T]) -> list[T]:
        """Write sessions, with the index of their texts, in one transaction; what `write` told of those that are sure.

        On PostgreSQL that may come with a later call: `drain` waits for it.
        """
        if self.engine.dialect.name == "sqlite":
            with self.session() as connection:
                outcomes, result = write(connection, self.index)
                self.outcomes += outcomes
            return [result]
        beside = self._threads()
        beside.put(write)
        return beside.taken()

    def drain(self) -> list[T]:
        """Wait until all that was `put` is sure, and give what is not told yet; raises what failed."""
        self._settle()
        return [] if self._beside is None else self._beside.taken()

    @contextmanager
    def session(self) -> Iterator[sa.Connection]:
        """For one session: what fails in it takes back what it wrote, and nothing of those before it."""
        connection = self._open()
        mark, count = self.index.mark(), len(self.outcomes)
        connection.exec_driver_sql("SAVEPOINT one_session")
        try:
            yield connection
        except sa.exc.DBAPIError:  # SQLite may have ended the transaction itself, as when the disk is full
            self._abandon()
            raise
        except BaseException:
            self.index.cut(mark)
            del self.outcomes[count:]
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT one_session")
            raise
        connection.exec_driver_sql("RELEASE SAVEPOINT one_session")
        if connection.dialect.name != "sqlite":
            self._commit_beside()
        elif self.index.size > search.MOST_BYTES:
            self.commit()
        else:
            self.yield_lock()

    def yield_lock(self) -> None:
        """Between two sessions: commit where somebody waits to write, or the transaction has been open for long."""
        if self._connection is not None and (time.monotonic() > self._until or write_queue.is_awaited(self.engine)):
            self.commit()

    def commit(self) -> None:
        """Make all that was written seen. Where that fails, nothing of this transaction is there."""
        self._settle()
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            with self._stack.pop_all():
                self.index.flush(connection)
        except BaseException:
            self._abandon()
            raise
        outcomes, self.outcomes = self.outcomes, []
        self.on_commit(outcomes)

    def _commit_beside(self) -> None:
        """Begin with `commit`; `_settle` waits for its end."""
        connection, stack, index, outcomes = self._connection, self._stack.pop_all(), self.index, self.outcomes
        assert connection is not None
        self._connection, self.index, self.outcomes = None, search.Pending(), []
        self._threads().commit(stack, connection, index, outcomes)

    def _settle(self) -> None:
        """Wait until what is written beside this thread is sure; raises what its `commit` would have raised."""
        if self._beside is not None:
            self._beside.settle()

    def _threads(self) -> Beside[T]:
        self._beside = self._beside or Beside(self.engine, self.on_commit)
        return self._beside

    def _abandon(self) -> None:
        """Take back the whole transaction, if there still is one."""
        self._connection = None
        self.index.clear()
        self.outcomes.clear()
        self._stack.pop_all().__exit__(*sys.exc_info())

    def _open(self) -> sa.Connection:
        if self._connection is None:
            self._settle()
            self._connection = self._stack.enter_context(database.writing_long(self.engine))
            self._until = time.monotonic() + MOST_SECONDS
        return self._connection

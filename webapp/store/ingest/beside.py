"""Writes new sessions into PostgreSQL beside the thread that reads them: rows by one thread, then texts by another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from threading import Event
from typing import Generic, TypeVar

import sqlalchemy as sa

from webapp.dumps.records import SessionStart
from webapp.store import search
from webapp.store.db import database
from webapp.store.write.writing import SessionOutcome

T = TypeVar("T")
Outcomes = list[tuple[SessionStart, SessionOutcome]]
Write = Callable[[sa.Connection, search.Pending], tuple[Outcomes, T]]
"""writes sessions, and tells what became of them and something more"""

_MOST_WAITING = 4
"""transactions that may wait for the two threads"""


class Beside(Generic[T]):
    """Transactions that are written and committed in the order in which they came, or not at all behind one that fails.

    While one thread indexes and commits a transaction, the other writes the rows of the next. The two wait for each
    other only in that order: what the next one needs locked is free once the one before it is committed.
    """

    def __init__(self, engine: sa.Engine, on_commit: Callable[[Outcomes], None]) -> None:
        self._engine = engine
        self._on_commit = on_commit
        self._writer = ThreadPoolExecutor(1, "write")
        self._committer = ThreadPoolExecutor(1, "commit")
        self._waiting: deque[Future[tuple[Outcomes, list[T]]]] = deque()
        self._sure: list[T] = []
        """what writing gave of transactions that are committed, until it is taken"""
        self._failed = Event()
        """set from where a transaction failed until that is raised"""

    def put(self, write: Write[T]) -> None:
        """Have `write` done in a transaction of its own; waits where too many are not sure yet."""
        begun = self._writer.submit(self._begin, write)

        def finish() -> tuple[Outcomes, list[T]]:
            stack, connection, index, outcomes, result = begun.result()
            self._commit(stack, connection, index)
            return outcomes, [result]

        self._submit(finish)
        self.settle(_MOST_WAITING)

    def commit(self, stack: ExitStack, connection: sa.Connection, index: search.Pending, outcomes: Outcomes) -> None:
        """Have a transaction that is written indexed and committed."""

        def finish() -> tuple[Outcomes, list[T]]:
            self._commit(stack, connection, index)
            return outcomes, []

        self._submit(finish)

    def settle(self, most: int = 0) -> None:
        """Wait until at most so many transactions are not sure; raises what the first that failed would have raised."""
        while self._waiting and (len(self._waiting) > most or self._waiting[0].done()):
            try:
                outcomes, results = self._waiting.popleft().result()
            except BaseException:
                wait(self._waiting)
                self._waiting.clear()
                self._failed.clear()
                raise
            self._sure += results
            self._on_commit(outcomes)

    def taken(self) -> list[T]:
        """What writing gave of transactions that are sure since this was last asked."""
        sure, self._sure = self._sure, []
        return sure

    def _begin(self, write: Write[T]) -> tuple[ExitStack, sa.Connection, search.Pending, Outcomes, T]:
        if self._failed.is_set():
            raise CancelledError
        index = search.Pending()
        with ExitStack() as stack:
            connection = stack.enter_context(database.writing_long(self._engine))
            outcomes, result = write(connection, index)
            return stack.pop_all(), connection, index, outcomes, result

    def _commit(self, stack: ExitStack, connection: sa.Connection, index: search.Pending) -> None:
        with stack:
            if self._failed.is_set():
                raise CancelledError
            index.flush(connection)

    def _submit(self, finish: Callable[[], tuple[Outcomes, list[T]]]) -> None:
        def finished() -> tuple[Outcomes, list[T]]:
            try:
                return finish()
            except BaseException:
                self._failed.set()
                raise

        self._waiting.append(self._committer.submit(finished))

"""Appends turns to a session that has its row, as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import sqlalchemy as sa

from webapp.dumps.records import LaterKnown, Turn
from webapp.store import search
from webapp.store.write import derived, rows
from webapp.store.write.session_rows import SessionRows

MOST_TURNS = 500
MOST_BYTES = 4 * 1024 * 1024

_note_failure = (
    sa.update(rows.turns)
    .where(rows.turns.c.id == sa.bindparam("turn"), rows.turns.c.recorded_failure.is_(None))
    .values(recorded_failure=sa.bindparam("text"))
)

Transaction = Callable[[], AbstractContextManager[sa.Connection]]


class SessionWriter:
    """Appends turns to a session that has its row, some at a time in the `transaction` that is made for them.

    With `own_index` texts are indexed along; else whoever gave the index does that, but for a great many. With
    `grows_again` the state can take more turns after `write`.
    """

    def __init__(
        self,
        transaction: Transaction,
        session_rows: SessionRows,
        *,
        own_index: bool = False,
        grows_again: bool = False,
    ) -> None:
        self.state = session_rows.state
        self._grows_again = grows_again
        self._transaction = transaction
        self._rows = session_rows
        self._own_index = own_index
        self.learned = False
        """whether later turns told more of earlier ones, so that all are to be folded again"""
        self._mark = (
            search.NOTHING if own_index or session_rows.state.index is None else session_rows.state.index.mark()
        )

    def write(self, turns: Iterable[Turn | LaterKnown]) -> int:
        """Store `turns` and the session's state after them; the number of rows written."""
        count = self.append(turns)
        self.state.settle(more_may_come=self._grows_again)
        with self._transaction() as connection:
            derived.store(connection, self.state)
        return count

    def append(self, turns: Iterable[Turn | LaterKnown]) -> int:
        """Store `turns`; the number of rows written."""
        session_rows = self._rows
        before = len(self.state.tally.positions)
        for turn in turns:
            if isinstance(turn, LaterKnown):
                self.learned |= session_rows.learn(turn)
                continue
            if not session_rows.add(turn):
                break
            if len(session_rows.turns) >= MOST_TURNS or session_rows.size >= MOST_BYTES:
                self._flush()
        self._flush()
        return len(self.state.tally.positions) - before

    def _flush(self) -> None:
        session_rows, index = self._rows, self.state.index
        with self._transaction() as connection:
            for table, batch in (
                (rows.turns, session_rows.turns),
                (rows.parses, session_rows.parses),
                (rows.repairs, session_rows.repairs),
            ):
                rows.insert(connection, table, batch)
                batch.clear()
            if session_rows.failures:
                connection.execute(_note_failure, session_rows.failures)
                session_rows.failures.clear()
            for values in session_rows.changes:
                turn_id = values.pop("turn")
                connection.execute(sa.update(rows.turns).where(rows.turns.c.id == turn_id).values(values))
            session_rows.changes.clear()
            if index is not None and (self._own_index or index.size - self._mark.size > search.MOST_BYTES):
                index.flush(connection, self._mark)
        session_rows.size = 0

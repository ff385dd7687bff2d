"""What a revision computes for each row that is there: some rows a transaction, resumed where it was interrupted.

A revision under `migrations/` that has such work names it `backfill`, and calls `whole` where its `upgrade` ends. Until
all rows have it, the database is at a revision such as "0006+1200": those of 0006 up to the id 1200 are filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from alembic import op
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext

IN_CHUNKS = "in_chunks"
"""the option of Alembic's context with which `whole` leaves the rows to whoever upgrades"""


@dataclass(frozen=True, slots=True)
class Backfill:
    """Rows of `table` for which the SQL `where` is true get what `fill` computes, `at_once` of them a transaction.

    `fill` is given ids in order. It does not change for which rows `where` is true. `finish` is done behind the last
    one: indexes of what was filled in are made faster then. With `dialect` only a database of that kind has such rows.
    """

    table: str
    fill: Callable[[sa.Connection, Sequence[int]], object]
    at_once: int
    where: str = "1 = 1"
    finish: Callable[[], None] = lambda: None
    dialect: str | None = None

    def next_ids(self, connection: sa.Connection, after: int) -> list[int]:
        """The ids of the next rows."""
        if self.dialect not in (None, connection.dialect.name):
            return []
        statement = f"SELECT id FROM {self.table} WHERE id > :after AND {self.where} ORDER BY id LIMIT :most"  # noqa: S608
        return list(connection.scalars(sa.text(statement), {"after": after, "most": self.at_once}))

    def count(self, connection: sa.Connection, to: int) -> tuple[int, int]:
        """How many rows there are up to the id `to`, and in all."""
        statement = f"SELECT count(CASE WHEN id <= :to THEN 1 END), count(*) FROM {self.table} WHERE {self.where}"  # noqa: S608
        filled, total = connection.execute(sa.text(statement), {"to": to}).one()
        return filled, total

    def end(self, connection: sa.Connection) -> None:
        """Do what is done behind the last row, outside of `upgrade`."""
        with Operations.context(MigrationContext.configure(connection)):
            self.finish()


def whole(backfill: Backfill) -> None:
    """Fill in all rows in the transaction of `upgrade`, as where Alembic's own commands run it."""
    if op.get_context().opts.get(IN_CHUNKS):
        return
    connection, after = op.get_bind(), 0
    while ids := backfill.next_ids(connection, after):
        backfill.fill(connection, ids)
        after = ids[-1]
    backfill.finish()

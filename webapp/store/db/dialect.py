"""What SQLite and PostgreSQL write differently, apart from full-text search."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles


def upsert(dialect: str, table: Any, values: dict[str, Any], key: tuple[str, ...]) -> sa.Insert:
    """Insert a row, or set its other columns where one with the same `key` is there already."""
    insert = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    columns = {name: value for name, value in values.items() if name not in key}
    return insert.values(values).on_conflict_do_update(index_elements=list(key), set_=columns)


def insert_new(dialect: str, table: Any, values: Any, key: tuple[str, ...]) -> sa.Insert:
    """Insert a row, or a list of them; none where one with the same `key` is there already."""
    insert = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    return insert.values(values).on_conflict_do_nothing(index_elements=list(key))


class Contains(sa.sql.functions.GenericFunction[bool]):
    """`Contains(column, text)`: whether bytes that hold UTF-8 contain `text`; ASCII letters match in both cases."""

    inherit_cache = True
    type = sa.Boolean()
    name = "fencepost_contains"


def contains(column: Any, text: str) -> sa.ColumnElement[bool]:
    """See `Contains`; the column is an `ExactText`."""
    data = text.encode("utf-8", "surrogatepass")
    escaped = "".join(_escaped(byte) for byte in data).lower()
    return Contains(column, sa.literal(data, sa.LargeBinary()), sa.literal(escaped, sa.String()))


def _escaped(byte: int) -> str:
    """A byte as PostgreSQL's encode(…, 'escape') writes it."""
    if byte == 0 or byte > 127:
        return f"\\{byte:03o}"
    return "\\\\" if byte == 0x5C else chr(byte)


@compiles(Contains, "sqlite")
def _sqlite(element: Contains, compiler: Any, **options: Any) -> str:
    column, data, _ = (compiler.process(clause, **options) for clause in element.clauses)
    return f"instr(lower(CAST({column} AS TEXT)), lower(CAST({data} AS TEXT))) > 0"


@compiles(Contains, "postgresql")
def _postgresql(element: Contains, compiler: Any, **options: Any) -> str:
    column, _, escaped = (compiler.process(clause, **options) for clause in element.clauses)
    return f"position({escaped} in lower(encode({column}, 'escape'))) > 0"


class ChangeNumber(sa.sql.functions.GenericFunction[int]):
    """The number that a session's `changed` gets when it is written: see `change`."""

    inherit_cache = True
    type = sa.BigInteger()
    name = "fencepost_change"


def change() -> sa.ColumnElement[int]:
    """What to set `session.changed` to in every statement that changes a session.

    SQLite has one writer, so the next number is the highest and one. On PostgreSQL it is the transaction's own
    number, so that transactions that end out of order are still seen by whoever reads on from `horizon`.
    """
    return ChangeNumber()


def horizon(connection: sa.Connection) -> int:
    """All that is or will be committed with a lower `changed` can be seen now: read on from here next time."""
    postgresql = connection.dialect.name == "postgresql"
    return int(connection.execute(_oldest_transaction if postgresql else _next_change).scalar_one())


_next_change = sa.text("SELECT coalesce(max(changed), 0) + 1 FROM session")
_oldest_transaction = sa.text("""
    SELECT CASE WHEN pg_snapshot_xmin(now) = pg_snapshot_xmax(now) THEN pg_snapshot_xmax(now)::text::bigint
    ELSE coalesce(
        (SELECT min(running::text::bigint) FROM pg_snapshot_xip(now) AS running WHERE NOT EXISTS (
            SELECT FROM pg_stat_activity AS other WHERE other.backend_xid = running::xid
            AND other.datid <> (SELECT oid FROM pg_database WHERE datname = current_database())
        )),
        pg_snapshot_xmax(now)::text::bigint
    ) END
    FROM pg_current_snapshot() AS now
""")
"""Numbers of transactions are the whole cluster's: those of its other databases are left out, however long they idle.
One that cannot be told, since it ended meanwhile, counts as ours."""


@compiles(ChangeNumber, "sqlite")
def _change_sqlite(element: ChangeNumber, compiler: Any, **options: Any) -> str:
    return "(SELECT coalesce(max(changed), 0) + 1 FROM session)"


@compiles(ChangeNumber, "postgresql")
def _change_postgresql(element: ChangeNumber, compiler: Any, **options: Any) -> str:
    return "pg_current_xact_id()::text::bigint"

"""What SQLite and PostgreSQL write differently, apart from full-text search."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles


def upsert(table: Any, values: dict[str, Any], key: tuple[str, ...]) -> sa.Insert:
    """Insert a row, or set its other columns where one with the same `key` is there already."""
    columns = {name: value for name, value in values.items() if name not in key}
    insert = postgresql.insert(table).values(values)  # SQLite took the clause over, and is given it by this, too
    return insert.on_conflict_do_update(index_elements=list(key), set_=columns)


def insert_new(table: Any, values: Any, key: tuple[str, ...]) -> sa.Insert:
    """Insert a row, some, or (None) those that it is executed with; none where one with that `key` is there already."""
    insert = postgresql.insert(table)
    return (insert if values is None else insert.values(values)).on_conflict_do_nothing(index_elements=list(key))


def take_locks(connection: sa.Connection, *numbers: int, shared: bool = False) -> None:
    """Hold these to the end of the transaction, as nobody else then does, but for who shares them; in the order of the
    numbers, and no more of them in it. SQLite, which has but one writer, needs none."""
    if connection.dialect.name == "postgresql":
        name = f"pg_advisory_xact_lock{'_shared' if shared else ''}"
        query = f"SELECT count({name}(number)) FROM unnest(CAST(:numbers AS bigint[])) AS number"  # noqa: S608
        connection.execute(sa.text(query), {"numbers": sorted(set(numbers))})


def begin_snapshot(connection: sa.Connection) -> None:
    """Let all that is read in the transaction, which begins with this, be of one moment."""
    is_server = connection.dialect.name == "postgresql"
    begin = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ" if is_server else "BEGIN DEFERRED"
    connection.exec_driver_sql(begin)


def by_dialect(
    name: str, kind: sa.types.TypeEngine[Any], *, sqlite: Callable[..., str], postgresql: Callable[..., str]
) -> Callable[..., sa.ColumnElement[Any]]:
    """A function for statements, in whose place each database gets what these make of its arguments' SQL."""
    function = type(name, (sa.sql.functions.GenericFunction,), {"inherit_cache": True, "type": kind, "name": name})

    def compile_as(dialect: str, make: Callable[..., str]) -> None:
        @compiles(function, dialect)
        def compiled(element: Any, compiler: Any, **options: Any) -> str:
            return make(*(compiler.process(clause, **options) for clause in element.clauses))

    compile_as("sqlite", sqlite)
    compile_as("postgresql", postgresql)
    return function


unindexed = by_dialect(
    "fencepost_unindexed", sa.BigInteger(), sqlite=lambda column: f"+{column}", postgresql=lambda column: column
)
"""A column by whose index SQLite is not to look rows up: of each row that it comes to otherwise it is asked."""
_contains = by_dialect(
    "fencepost_contains",
    sa.Boolean(),
    sqlite=lambda column, data, _: f"instr(lower(CAST({column} AS TEXT)), lower(CAST({data} AS TEXT))) > 0",
    postgresql=lambda column, _, escaped: f"position({escaped} in lower(encode({column}, 'escape'))) > 0",
)


def contains(column: Any, text: str) -> sa.ColumnElement[bool]:
    """Whether an `ExactText` contains `text`; ASCII letters match in both cases."""
    data = text.encode("utf-8", "surrogatepass")
    escaped = "".join(_escaped(byte) for byte in data).lower()
    return _contains(column, sa.literal(data, sa.LargeBinary()), sa.literal(escaped, sa.String()))


def _escaped(byte: int) -> str:
    """A byte as PostgreSQL's encode(…, 'escape') writes it."""
    if byte == 0 or byte > 127:
        return f"\\{byte:03o}"
    return "\\\\" if byte == 0x5C else chr(byte)


def clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def change() -> sa.ColumnElement[int]:
    """What to set `session.changed` to in every statement that changes a session: the time, more than it was."""
    column = sa.column("changed", sa.BigInteger())
    now = sa.bindparam("changed_now", type_=sa.BigInteger(), callable_=clock)
    return sa.case((column >= now, column + 1), else_=now)


_MOMENT = 200
"""milliseconds for which who need not write waits for SQLite's write lock"""


@contextmanager
def hurried(connection: sa.Connection) -> Iterator[None]:
    """Wait for SQLite's write lock for a moment alone, else what writes first raises `OperationalError`: who looks at a
    page waits for nobody who writes."""
    if connection.dialect.name != "sqlite":
        yield
        return
    patience = connection.exec_driver_sql("PRAGMA busy_timeout").scalar()
    connection.exec_driver_sql(f"PRAGMA busy_timeout={_MOMENT}")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout={patience}")


_STEPS = 2_000
"""of SQLite's machine between two looks at the clock: some tens of microseconds"""


class TookTooLong(Exception):
    """The time was over before the answer was there."""


@contextmanager
def within(connection: sa.Connection, seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` from what asks in the block for longer than that, together; the transaction goes on."""
    limited = _within_sqlite if connection.dialect.name == "sqlite" else _within_postgresql
    try:
        with limited(connection, seconds):
            yield
    except sa.exc.OperationalError as error:
        if not _is_ours(error.orig):
            raise
        raise TookTooLong from None


def _is_ours(error: BaseException | None) -> bool:
    if isinstance(error, sqlite3.Error):
        return error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT
    return getattr(error, "sqlstate", None) == "57014"  # query_canceled


@contextmanager
def _within_sqlite(connection: sa.Connection, seconds: float) -> Iterator[None]:
    driver, ends = connection.connection.driver_connection, time.monotonic() + seconds
    assert isinstance(driver, sqlite3.Connection)
    driver.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
    try:
        yield
    finally:
        driver.set_progress_handler(None, 0)


@contextmanager
def _within_postgresql(connection: sa.Connection, seconds: float) -> Iterator[None]:
    """Each statement gets what is left of the time; behind a savepoint, or the first that is cut ends all."""
    ends = time.monotonic() + seconds

    def set_timeout(*_: object) -> None:
        milliseconds = round(1000 * (ends - time.monotonic()))
        if milliseconds < 1:
            raise TookTooLong
        connection.connection.cursor().execute(f"SET LOCAL statement_timeout = {milliseconds}")

    with connection.begin_nested():
        sa.event.listen(connection, "before_cursor_execute", set_timeout)
        try:
            yield
        finally:
            sa.event.remove(connection, "before_cursor_execute", set_timeout)
        connection.exec_driver_sql("SET LOCAL statement_timeout = DEFAULT")

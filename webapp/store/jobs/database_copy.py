"""Copies all rows of one database into another, either kind into either, and checks each table by count and hash."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

import sqlalchemy as sa

from webapp.store.db import database, dialect
from webapp.store.db.types import ShortText, UtcDateTime
from webapp.store.jobs import reindex
from webapp.store.models import Base

OnProgress = Callable[[str, int, int], None]
"""hears what is being done, and how many of how many rows or sessions of that are finished"""
Key = tuple[Any, ...]

_ROWS = 500
"""rows a transaction; of 2 KB each, a megabyte"""
_MOVED_ON = 10_000
"""rows that are compared between two reports of progress"""
_state = sa.table("database_copy", sa.column("name", sa.String), sa.column("last", sa.LargeBinary))
"""a row a table: the last key that was copied, as Python writes it; and one row "" for the source's address"""


class NotCopied(RuntimeError):
    """The one database cannot be copied into the other, or the copy is not the same; the message says what to do."""


@dataclass(frozen=True, slots=True)
class TableCopy:
    """One table that is the same in both: its rows, and the SHA-256 of them in the order of their keys."""

    name: str
    rows: int
    sha256: str


def copy(source: sa.Engine, target: sa.Engine, on_progress: OnProgress = lambda *_: None) -> list[TableCopy]:
    """Copy `source` into the empty `target`, or go on with a copy of it that was interrupted. Raises `NotCopied`.

    The source is read as it is at one moment. Until the copy is whole, checked and indexed the target's revision is
    `database.UNFINISHED_COPY`, so that nothing serves half of it.
    """
    _refuse_source(source)
    tables = Base.metadata.sorted_tables
    with _snapshot(source) as connection:
        _begin(target, source.url.render_as_string(hide_password=True))
        for table in tables:
            _copy_rows(connection, target, table, on_progress)
        copies = [_compare(connection, target, table, on_progress) for table in tables]
    _set_sequences(target)
    reindex.reindex(target, on_progress=lambda finished, total: on_progress("search index", finished, total))
    with database.writing(target) as writing:
        writing.exec_driver_sql("DROP TABLE database_copy")
        database.set_revision(writing, database.HEAD)
    return copies


def _refuse_source(source: sa.Engine) -> None:
    current = database.revision(source)
    if current == database.UNFINISHED_COPY:
        raise NotCopied("the database to copy is itself an unfinished copy: finish that first")
    if current != database.HEAD:
        raise NotCopied(
            f"the database to copy is at revision {current or 'none'}, and the newest is {database.HEAD}: "
            "run fencepost db migrate with FENCEPOST_DATABASE set to it first"
        )


@contextmanager
def _snapshot(source: sa.Engine) -> Iterator[sa.Connection]:
    """One reading transaction, so that what is written meanwhile is seen neither in the copy nor in its check."""
    with source.connect() as connection:
        if connection.dialect.name == "postgresql":
            yield connection.execution_options(isolation_level="REPEATABLE READ")
        else:
            connection.exec_driver_sql("BEGIN DEFERRED")
            yield connection


def _begin(target: sa.Engine, address: str) -> None:
    """Make the target's tables and mark it as an unfinished copy of `address`, or see that it is just that already."""
    current = database.revision(target)
    if current == database.UNFINISHED_COPY:
        with target.connect() as connection:
            begun = _last(connection, "").decode()
        if begun != address:
            words = f"an unfinished copy of {begun}: finish that, or name a database that is empty"
            raise NotCopied(f"the target is {words}")
        return
    if current not in (None, database.HEAD):
        raise NotCopied(f"the target is at revision {current}: name a database that is empty")
    database.migrate(target)
    with database.writing(target) as connection:
        _refuse_rows(connection)
        binary = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
        connection.exec_driver_sql(f"CREATE TABLE database_copy (name VARCHAR(64) PRIMARY KEY, last {binary} NOT NULL)")
        connection.execute(_state.insert().values(name="", last=address.encode()))
        database.set_revision(connection, database.UNFINISHED_COPY)


def _refuse_rows(target: sa.Connection) -> None:
    for table in Base.metadata.sorted_tables:
        if target.scalar(sa.select(sa.exists().select_from(table))):
            raise NotCopied(f"the target has rows in its table {table.name!r}: name a database that is empty")


def _last(target: sa.Connection, name: str) -> bytes:
    return bytes(target.scalar(sa.select(_state.c.last).where(_state.c.name == name)) or b"")


def _copy_rows(source: sa.Connection, target: sa.Engine, table: sa.Table, on_progress: OnProgress) -> None:
    """Copy a table's rows in the order of their keys, on from the last one that is there, some a transaction."""
    total = source.scalar(sa.select(sa.func.count()).select_from(table)) or 0
    with target.connect() as connection:
        last = _last(connection, table.name)
        finished = connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
    on_progress(table.name, finished, total)
    with closing(_in_order(source, table, after=ast.literal_eval(last.decode()) if last else None)) as batches:
        for rows in batches:
            with database.writing(target) as connection:
                connection.execute(_plain(table).insert(), _with_own_numbers(connection, table, rows))
                _remember(connection, table, rows[-1])
            finished += len(rows)
            on_progress(table.name, finished, total)


def _in_order(
    connection: sa.Connection, table: sa.Table, *, after: Key | None = None
) -> Generator[list[dict[str, Any]], None, None]:
    """The rows by their primary keys, `_ROWS` at a time, in the same order on every database."""
    keys = [_comparable(connection, column) for column in table.primary_key]
    query = sa.select(_plain(table)).order_by(*keys)
    if after is not None:
        last = [sa.literal(value, key.type) for value, key in zip(after, keys, strict=True)]
        query = query.where(sa.tuple_(*keys) > sa.tuple_(*last))
    with connection.execution_options(yield_per=_ROWS).execute(query) as result:
        for rows in result.mappings().partitions():
            yield [{name: bytes(v) if isinstance(v, memoryview) else v for name, v in row.items()} for row in rows]


def _comparable(connection: sa.Connection, column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """The column; texts in the order of their bytes, as SQLite's are, and not in that of the server's language."""
    plain: sa.ColumnElement[Any] = sa.column(column.name, _stored(column.type))
    is_text = isinstance(column.type, sa.String | ShortText)
    return plain.collate("C") if is_text and connection.dialect.name == "postgresql" else plain


def _plain(table: sa.Table) -> sa.TableClause:
    """The table with what is stored as it is stored: nothing is unpacked or read on the way."""
    return sa.table(table.name, *(sa.column(column.name, _stored(column.type)) for column in table.columns))


def _stored(kind: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    return kind.impl_instance if isinstance(kind, sa.TypeDecorator) and not isinstance(kind, UtcDateTime) else kind


def _with_own_numbers(target: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows; on PostgreSQL a session's number of its last change is one of that server's own."""
    if table.name != "session" or target.dialect.name != "postgresql":
        return list(rows)
    number = target.scalar(sa.select(dialect.change()))
    return [{**row, "changed": number} for row in rows]


def _remember(target: sa.Connection, table: sa.Table, row: dict[str, Any]) -> None:
    last = repr(tuple(row[column.name] for column in table.primary_key)).encode()
    target.execute(dialect.upsert(target.dialect.name, _state, {"name": table.name, "last": last}, ("name",)))


def _compare(source: sa.Connection, target: sa.Engine, table: sa.Table, on_progress: OnProgress) -> TableCopy:
    """Read the table in both, row by row; raises `NotCopied` at the first that is not the same."""
    digest, count = hashlib.sha256(), 0
    with (
        _snapshot(target) as copied,
        closing(_canonical(source, table)) as expected,
        closing(_canonical(copied, table)) as rows,
    ):
        for count, (one, other) in enumerate(zip_longest(expected, rows), 1):
            if one != other:
                raise NotCopied(
                    f"row {count:,} of the table {table.name!r} is not the same in the copy: the source changed after "
                    "a copy of it was interrupted. Begin again with a database that is empty"
                )
            digest.update(one)
            if count % _MOVED_ON == 0:
                on_progress(f"check of {table.name}", count, 0)
    return TableCopy(table.name, count, digest.hexdigest())


def _canonical(connection: sa.Connection, table: sa.Table) -> Generator[bytes, None, None]:
    """Each row as bytes that are equal where the rows are, apart from the number of a session's last change."""
    left_out = {"changed"} if table.name == "session" else set()
    names = sorted({column.name for column in table.columns} - left_out)
    with closing(_in_order(connection, table)) as batches:
        for row in chain.from_iterable(batches):
            yield repr([row[name] for name in names]).encode()


def _set_sequences(target: sa.Engine) -> None:
    """Let PostgreSQL's sequences go on behind the ids that were copied; SQLite looks for the highest itself."""
    if target.dialect.name != "postgresql":
        return
    with target.begin() as connection:
        for table in Base.metadata.sorted_tables:
            (key, *others) = table.primary_key
            if others or not isinstance(key.type, sa.Integer):
                continue
            highest = connection.scalar(sa.select(sa.func.max(key)))
            sequence = connection.scalar(sa.select(sa.func.pg_get_serial_sequence(table.name, key.name)))
            if sequence and highest:
                connection.execute(sa.select(sa.func.setval(sequence, highest)))

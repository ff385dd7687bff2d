"""Inserts rows in batches, whose values are in the bytes that the columns keep: see `row_values`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from webapp.store import models
from webapp.store.db.copying import binary_types, copy_rows
from webapp.store.db.types import ExactJson, ExactText, PackedJson, PackedText, ShortText, UtcDateTime
from webapp.store.write import declarations
from webapp.store.write.row_values import Row, Values, values

_PLAIN: dict[type[sa.types.TypeEngine[Any]], sa.types.TypeEngine[Any]] = {
    ExactText: sa.types.NullType(),
    ExactJson: sa.types.NullType(),
    PackedJson: sa.types.NullType(),
    PackedText: sa.types.NullType(),
    sa.LargeBinary: sa.types.NullType(),
    ShortText: sa.String(),
    UtcDateTime: sa.DateTime(timezone=True),
}


def plain(model: type[models.Base]) -> sa.TableClause:
    """`model`'s table with bare column types: rows for it are encoded here, once, and bytes go in as they are."""
    columns = [(column.name, _PLAIN.get(type(column.type), column.type)) for column in model.__table__.columns]
    return sa.table(model.__tablename__, *(sa.column(name, type_) for name, type_ in columns))


sessions = plain(models.Session)
turns = plain(models.Turn)
parses = plain(models.Parse)
repairs = plain(models.ParseRepair)
_SESSION: sa.Table = models.Session.__table__  # type: ignore[assignment]
_insert_sessions = sa.insert(_SESSION).returning(_SESSION.c.id, sort_by_parameter_order=True)
_next_numbers = sa.text("SELECT nextval(pg_get_serial_sequence('session', 'id')) FROM generate_series(1, :count)")


def insert(connection: sa.Connection, table: sa.TableClause, batch: list[Row]) -> None:
    """Insert rows, which all have the same columns."""
    if batch:
        names = tuple(batch[0])
        insert_values(connection, table, names, values(names, batch))


def insert_values(
    connection: sa.Connection, table: sa.TableClause, names: tuple[str, ...], batch: Sequence[Values]
) -> None:
    """Insert rows of the columns `names`; on SQLite by its driver, which takes half the time."""
    if not batch:
        return
    if declarations.COLUMN in names:
        batch = declarations.put(connection, names, batch)
    if connection.dialect.name != "sqlite":
        types = binary_types(table)
        copy_rows(connection, table.name, {name: types[name] for name in names}, batch)
        return
    if "sent_at" in names:
        at = names.index("sent_at")
        batch = [(*row[:at], _stamp(row[at]), *row[at + 1 :]) for row in batch]
    connection.exec_driver_sql(_statement(table.name, names), list(batch))


def insert_sessions(connection: sa.Connection, batch: Sequence[Row]) -> list[int]:
    """Insert sessions, whose values are as Python has them, all of the same columns; their numbers in that order."""
    if connection.dialect.name == "sqlite":
        return list(connection.scalars(_insert_sessions, batch))
    numbers = sorted(connection.scalars(_next_numbers, {"count": len(batch)}))
    columns = [column for column in _SESSION.columns if column.name in batch[0] or column.default is not None]
    encoded = [[_encoded(column, row, connection.dialect) for column in columns] for row in batch]
    names = ("id", *(column.name for column in columns))
    insert_values(connection, sessions, names, [(number, *row) for number, row in zip(numbers, encoded, strict=True)])
    return numbers


def _encoded(column: sa.Column[Any], row: Row, dialect: sa.Dialect) -> Any:
    """The value of a column as COPY takes it."""
    if column.name not in row:
        return column.default.arg  # type: ignore[union-attr]
    kind, value = column.type, row[column.name]
    return kind.process_bind_param(value, dialect) if isinstance(kind, sa.types.TypeDecorator) else value


@lru_cache(maxsize=16)
def _statement(table: str, names: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608


def _stamp(when: datetime | None) -> str | None:
    """A time in UTC as SQLAlchemy writes it for SQLite."""
    return None if when is None else when.replace(tzinfo=None).isoformat(" ", "microseconds")

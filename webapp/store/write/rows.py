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


turns = plain(models.Turn)
parses = plain(models.Parse)
repairs = plain(models.ParseRepair)


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
    if connection.dialect.name != "sqlite":
        types = binary_types(table)
        copy_rows(connection, table.name, {name: types[name] for name in names}, batch)
        return
    if "sent_at" in names:
        at = names.index("sent_at")
        batch = [(*row[:at], _stamp(row[at]), *row[at + 1 :]) for row in batch]
    connection.exec_driver_sql(_statement(table.name, names), list(batch))


@lru_cache(maxsize=16)
def _statement(table: str, names: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608


def _stamp(when: datetime | None) -> str | None:
    """A time in UTC as SQLAlchemy writes it for SQLite."""
    return None if when is None else when.replace(tzinfo=None).isoformat(" ", "microseconds")

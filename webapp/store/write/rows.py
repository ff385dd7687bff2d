"""Inserts rows in batches, whose values are in the bytes that the columns keep: see `row_values`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from webapp.store import models
from webapp.store.db.types import ExactJson, ExactText, PackedJson, PackedText, ShortText, UtcDateTime
from webapp.store.write import declarations
from webapp.store.write.row_values import Row

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


def insert(connection: sa.Connection, table: sa.TableClause, batch: Sequence[Row]) -> None:
    """Insert rows, which all have the same columns."""
    if batch:
        if declarations.COLUMN in batch[0]:
            declarations.put(connection, batch)
        connection.execute(sa.insert(table), batch)

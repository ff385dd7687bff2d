"""Many rows at once into PostgreSQL by binary COPY, which takes less of both sides than an INSERT for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import sqlalchemy as sa

_TYPES = (
    (sa.types.NullType, "bytea"),
    (sa.BigInteger, "int8"),
    (sa.Integer, "int4"),
    (sa.Boolean, "bool"),
    (sa.Float, "float8"),
    (sa.DateTime, "timestamptz"),
    (sa.String, "text"),
)
"""PostgreSQL's own names of types; where a column has none, what it is given are bytes"""


@cache
def binary_types(table: sa.TableClause) -> dict[str, str]:
    """The columns of `table` with PostgreSQL's names of their types."""
    return {
        column.name: next(name for kind, name in _TYPES if isinstance(column.type, kind)) for column in table.columns
    }


def copy_rows(connection: sa.Connection, table: str, types: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Add `rows` of the columns that `types` names to `table`. Raises like an INSERT.

    A value is what psycopg makes the type of, or bytes as that type is in binary for a column said to be "bytea".
    """
    statement = f"COPY {table} ({', '.join(types)}) FROM STDIN (FORMAT BINARY)"
    driver = connection.connection.driver_connection
    assert driver is not None
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(list(types.values()))
            for row in rows:
                copy.write_row(row)
    except connection.dialect.loaded_dbapi.Error as error:
        wrapped = sa.exc.DBAPIError.instance(statement, None, error, connection.dialect.loaded_dbapi.Error)
        raise wrapped from error

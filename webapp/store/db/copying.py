"""Many rows at once into PostgreSQL, by COPY, which takes less of both sides than an INSERT for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa


def copy_rows(connection: sa.Connection, table: str, names: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Add `rows` of the columns `names` to `table`; each value is one that psycopg knows. Raises like an INSERT."""
    statement = f"COPY {table} ({', '.join(names)}) FROM STDIN"
    driver = connection.connection.driver_connection
    assert driver is not None
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    except connection.dialect.loaded_dbapi.Error as error:
        wrapped = sa.exc.DBAPIError.instance(statement, None, error, connection.dialect.loaded_dbapi.Error)
        raise wrapped from error

"""The database's own clock, which all machines that share a database agree on."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from webapp.store.db.types import UtcDateTime


class DatabaseTime(sa.sql.functions.GenericFunction[datetime]):
    """`DatabaseTime(seconds)`: so many seconds from now by the database's clock; below 0, ago."""

    inherit_cache = True
    type = UtcDateTime()
    name = "fencepost_time"


def now() -> sa.ColumnElement[datetime]:
    return DatabaseTime(sa.literal(0.0))


def ago(seconds: float) -> sa.ColumnElement[datetime]:
    return DatabaseTime(sa.literal(-float(seconds)))


@compiles(DatabaseTime, "sqlite")
def _sqlite(element: DatabaseTime, compiler: Any, **options: Any) -> str:
    """As SQLAlchemy writes a time into SQLite: with six digits behind the seconds."""
    (seconds,) = (compiler.process(clause, **options) for clause in element.clauses)
    return f"(strftime('%Y-%m-%d %H:%M:%f', 'now', {seconds} || ' seconds') || '000')"


@compiles(DatabaseTime, "postgresql")
def _postgresql(element: DatabaseTime, compiler: Any, **options: Any) -> str:
    (seconds,) = (compiler.process(clause, **options) for clause in element.clauses)
    return f"(clock_timestamp() + make_interval(secs => {seconds}))"

"""The database's own clock, which all machines that share a database agree on."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from webapp.store.db.dialect import by_dialect
from webapp.store.db.types import UtcDateTime

_later = by_dialect(
    "fencepost_time",
    UtcDateTime(),
    # as SQLAlchemy writes a time into SQLite: with six digits behind the seconds
    sqlite=lambda seconds: f"(strftime('%Y-%m-%d %H:%M:%f', 'now', {seconds} || ' seconds') || '000')",
    postgresql=lambda seconds: f"(clock_timestamp() + make_interval(secs => {seconds}))",
)


def now() -> sa.ColumnElement[datetime]:
    return _later(sa.literal(0.0))


def ago(seconds: float) -> sa.ColumnElement[datetime]:
    return _later(sa.literal(-float(seconds)))

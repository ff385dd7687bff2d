"""The audit log: every write is noted before it is done, and what came of it after. It has a size and an age."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from webapp.store.models import AuditEntry

MOST = 1_000_000
"""lines that are kept, the newest"""
OLDEST = timedelta(days=400)
_EVERY = 100
"""lines after which older ones are removed"""
_LONGEST = 2000
"""characters of an object"""


def begin(connection: sa.Connection, entry: AuditEntry, status: int | None = None) -> int:
    """Note a write, and return the entry's number for `finish`; give `status` where it is done already."""
    values = {
        "at": datetime.now(UTC),
        "author": entry.author,
        "via": entry.via[:255],
        "peer": entry.peer[:64],
        "act": entry.act[:100],
        "object": _cut(entry.object),
        "detail": entry.detail,
        "status": status,
    }
    number = connection.scalars(sa.insert(AuditEntry).values(values).returning(AuditEntry.id)).one()
    if number % _EVERY == 0:
        too_old = sa.or_(AuditEntry.id <= number - MOST, AuditEntry.at < datetime.now(UTC) - OLDEST)
        connection.execute(sa.delete(AuditEntry).where(too_old))
    return number


def finish(connection: sa.Connection, number: int, status: int, detail: dict[str, Any] | None) -> None:
    values: dict[str, Any] = {"status": status} | ({"detail": detail} if detail else {})
    connection.execute(sa.update(AuditEntry).where(AuditEntry.id == number).values(values))


def page(
    connection: sa.Connection, *, before: int | None = None, author: str | None = None, limit: int = 100
) -> list[AuditEntry]:
    """`limit` lines, the newest first, older than the line `before`; of one author where one is named."""
    query = sa.select(AuditEntry.__table__).order_by(AuditEntry.id.desc()).limit(limit)
    if before is not None:
        query = query.where(AuditEntry.id < before)
    if author:
        query = query.where(AuditEntry.author == author)
    return [AuditEntry(**row._mapping) for row in connection.execute(query)]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST:,} characters cut)"

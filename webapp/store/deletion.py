"""Deletes sessions: hidden at once, gone for good after a while, and back when they are undone or come in again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.dialect import change
from webapp.store.models import Session

UNDONE_FOR = timedelta(hours=1)
"""how long a deletion can be undone for sure"""


def delete(db: orm.Session, keys: Iterable[str]) -> list[str]:
    """Hide the sessions with these keys and commit; the keys of those that were there, for `undo`."""
    return _set(db, keys, Session.deleted_at.is_(None), datetime.now(UTC))


def undo(db: orm.Session, keys: Iterable[str]) -> list[str]:
    """Bring hidden sessions back and commit; the keys of those that were still there."""
    return _set(db, keys, Session.deleted_at.is_not(None), None)


def _set(db: orm.Session, keys: Iterable[str], there: sa.ColumnElement[bool], deleted_at: datetime | None) -> list[str]:
    wanted = list(dict.fromkeys(keys))
    found: list[str] = []
    for at in range(0, len(wanted), 500):
        statement = sa.update(Session).where(Session.key.in_(wanted[at : at + 500]), there)
        values = {"deleted_at": deleted_at, "changed": change()}
        found += db.scalars(
            statement.values(values).returning(Session.key), execution_options={"synchronize_session": False}
        )
    db.commit()
    return found

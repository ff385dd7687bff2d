"""Marks sessions that grow while their program runs: by spans that arrive, or by a file that is watched."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

import sqlalchemy as sa

from webapp.store.models import Session

_update = sa.update(Session)


def mark_live(connection: sa.Connection, session_ids: Collection[int]) -> None:
    """Say of sessions, by their numbers, that turns arrived just now; an import of a finished file never does."""
    if session_ids:
        connection.execute(_update.where(Session.id.in_(session_ids)).values(grown_at=datetime.now(UTC)))


def last_change(engine: sa.Engine) -> int:
    """The number of the last change to any session."""
    with engine.connect() as connection:
        return connection.scalar(sa.select(sa.func.max(Session.changed))) or 0


def mark_watched(engine: sa.Engine, keys: Collection[str], after: int) -> None:
    """Mark those of the sessions `keys` that changed after the change `after`; in a transaction of its own."""
    changed = _update.where(Session.key.in_(keys), Session.changed > after)
    with engine.begin() as connection:
        connection.execute(changed.values(grown_at=datetime.now(UTC)))

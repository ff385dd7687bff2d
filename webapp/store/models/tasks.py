"""The table of tasks: what goes on behind a request or by a command."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import ExactJson, UtcDateTime
from webapp.store.models.base import Numbered


class Task(Numbered):
    """An import, replay, change of homes, export or prune: what it is about, how far it is, and how it ended."""

    kind: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    """import, replay, homes, export or prune"""
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16), index=True)
    """held, queued, running, done, failed, cancelled or interrupted; of an export also removed"""
    about: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)
    """what it is to do, as the module of its kind says"""
    progress: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """how far it came"""
    result: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """what came of it, or its error"""
    tries: orm.Mapped[int] = orm.mapped_column(default=0)
    """how many workers died over it"""
    dump_id: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("dump.id", ondelete="SET NULL"))
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    began_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    ended_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)

"""The tables of home profiles: changes to them, session by session, and the rules that are remembered."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import ExactText, ProfileName, UtcDateTime
from webapp.store.models.base import Base, Numbered


class HomeChangeSession(Base):
    """One session of a change: the home it gets, and once that is done the one it had."""

    __table_args__ = (sa.Index("ix_home_change_session_session_id", "session_id"),)

    task_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("task.id", ondelete="CASCADE"), primary_key=True)
    session_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True)
    profile: orm.Mapped[str] = orm.mapped_column(ProfileName)
    source: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    former_profile: orm.Mapped[str | None] = orm.mapped_column(ProfileName)
    former_source: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16), default="waiting")
    """waiting, changed, or left: it had that home already, or since an undoing was asked for another one"""


class HomeRule(Numbered):
    """A home profile that is remembered for sessions of a service or a format that come later."""

    __table_args__ = (sa.UniqueConstraint("kind", "value"),)

    kind: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    """service or format"""
    value: orm.Mapped[str] = orm.mapped_column(sa.String(255))
    profile: orm.Mapped[str] = orm.mapped_column(ProfileName)
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)

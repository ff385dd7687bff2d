"""The tables of home profiles: changes to them, session by session, and the rules that are remembered."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import ExactJson, ExactText, ProfileName, UtcDateTime
from webapp.store.models.base import Base, Numbered


class HomeChange(Numbered):
    """One change of the home profile of many sessions, or its undoing: what is to be done, and how far it is."""

    profile: orm.Mapped[str] = orm.mapped_column(ProfileName)
    """what the sessions get; of an undoing what they had got"""
    scope: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)
    """which sessions it is for, as they were asked for"""
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16), index=True)
    """running, done or cancelled"""
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    total: orm.Mapped[int]
    finished: orm.Mapped[int] = orm.mapped_column(default=0)
    undoes: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("home_change.id", ondelete="SET NULL"))
    undone: orm.Mapped[bool] = orm.mapped_column(default=False)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    ended_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)


class HomeChangeSession(Base):
    """One session of a change: the home it gets, and once that is done the one it had."""

    __table_args__ = (sa.Index("ix_home_change_session_session_id", "session_id"),)

    change_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("home_change.id", ondelete="CASCADE"), primary_key=True
    )
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

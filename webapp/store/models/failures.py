"""The tables of failed responses, and of what people say of the groups that they are in."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import BigId, ExactJson, ExactText, ShortText, UtcDateTime
from webapp.store.models.base import Base, Numbered


class FailureOverlay(Numbered):
    """A group that was merged into another; nothing of it is stored with parses."""

    group_key: orm.Mapped[str] = orm.mapped_column(sa.String(255))
    """the group that is merged away"""
    target: orm.Mapped[str] = orm.mapped_column(sa.String(255))
    """the group that it is merged into"""
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    reason: orm.Mapped[str] = orm.mapped_column(ExactText)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    undone_by: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    undone_reason: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    undone_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)


class FailedResponse(Base):
    """A response that failed under a profile, or under home: made of its parses by `store.write.failed_responses`."""

    __table_args__ = (
        sa.Index("ix_failed_response_group_key", "under", "group_key", "at", "turn_id", "session_id"),
        {"sqlite_with_rowid": False},
    )

    under: orm.Mapped[str] = orm.mapped_column(sa.String(255), primary_key=True)
    session_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    turn_id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    group_key: orm.Mapped[str] = orm.mapped_column(sa.String(255))
    at: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    """when it was sent, else when its session happened; in microseconds since the year 1"""
    model: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    agent: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    phase: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    tools: orm.Mapped[list[str] | None] = orm.mapped_column(ExactJson)
    path: orm.Mapped[str | None] = orm.mapped_column(sa.String(160))
    tokens: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    tokens_in: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    tokens_out: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    cost: orm.Mapped[float | None]
    seconds: orm.Mapped[float | None]
    """from when the turn before it was sent; None where the log does not say both times"""
    profile: orm.Mapped[str] = orm.mapped_column(sa.String(255))
    """of the parse that failed; "" where the dump alone says that the response failed"""
    version: orm.Mapped[str] = orm.mapped_column(sa.String(16))


class FailureEvent(Numbered):
    """What somebody said of a group: its last state is in force, and so is its last assignment; all stay."""

    __table_args__ = (sa.Index("ix_failure_event_group_key", "group_key", "id"),)

    group_key: orm.Mapped[str] = orm.mapped_column(sa.String(255))
    action: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    """state or assign"""
    state: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    """open, resolved or ignored"""
    profile: orm.Mapped[str | None] = orm.mapped_column(sa.String(255))
    version: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    """of a resolved group: the profile's version that mends it; both None where it is resolved by date"""
    until: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    """of a resolved group: from when on it must not be seen; of an ignored one: how long it is ignored"""
    grows: orm.Mapped[float | None] = orm.mapped_column(sa.Double())
    """of an ignored group: until it has so many times the responses"""
    count: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    """how many responses the group had then"""
    assignee: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    reason: orm.Mapped[str] = orm.mapped_column(ExactText)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)

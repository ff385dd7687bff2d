"""The tables of what sessions grow by while an agent runs: OpenTelemetry's spans and logs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import PackedJson, UtcDateTime
from webapp.store.models.base import Base


class LiveSpan(Base):
    """An OpenTelemetry span that a session holds as one of its entries: spans come late, twice and in any order."""

    __table_args__ = (sa.Index("ix_live_span_order", "session_id", "started", "entry"),)

    trace: orm.Mapped[bytes] = orm.mapped_column(sa.LargeBinary(16), primary_key=True)
    span: orm.Mapped[bytes] = orm.mapped_column(sa.LargeBinary(8), primary_key=True)
    session_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True)
    started: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    """nanoseconds since 1970; -2**62 where the span does not say"""
    entry: orm.Mapped[int]
    ordinal: orm.Mapped[int]
    """of its first turn"""
    turns: orm.Mapped[int]


class LiveLog(Base):
    """An OpenTelemetry log record that waits for its span."""

    trace: orm.Mapped[bytes] = orm.mapped_column(sa.LargeBinary(16), primary_key=True)
    span: orm.Mapped[bytes] = orm.mapped_column(sa.LargeBinary(8), primary_key=True)
    digest: orm.Mapped[bytes] = orm.mapped_column(sa.LargeBinary(32), primary_key=True)
    """SHA-256 of the record"""
    received_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime, index=True)
    entry: orm.Mapped[dict[str, Any]] = orm.mapped_column(PackedJson)
    """`{"resource", "log"}`"""

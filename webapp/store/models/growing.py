"""The tables of what grows while an agent runs: sessions by OpenTelemetry spans and logs, and files of lines."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import BigId, PackedBytes, PackedJson, UtcDateTime
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


class GrowingFile(Base):
    """Where the reading of a dump of lines ended; of each name of a file no more than the last one has a row."""

    dump_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("dump.id", ondelete="CASCADE"), primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(64), index=True)
    """the SHA-256 of the file's name"""
    made_by: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    """the code that wrote this, and the rows of its sessions: no other code reads them"""
    state: orm.Mapped[bytes] = orm.mapped_column(PackedBytes)


class GrowingSession(Base):
    """Where the reading of a dump's session ended, and what its turns left, good while the session's `changed` is."""

    dump_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("dump.id", ondelete="CASCADE"), primary_key=True)
    session_id: orm.Mapped[int] = orm.mapped_column(
        BigId, sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    made_by: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    changed: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    entry_count: orm.Mapped[int]
    turn_count: orm.Mapped[int]
    """of the session as it was then: another file may have made it grow since"""
    reader: orm.Mapped[bytes] = orm.mapped_column(PackedBytes)
    fold: orm.Mapped[bytes | None] = orm.mapped_column(PackedBytes)

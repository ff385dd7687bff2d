"""The tables of what comes in, and of what goes on behind a request: dumps, live spans and logs, tasks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import ExactJson, ExactText, PackedJson, ProfileName, UtcDateTime
from webapp.store.models.base import Base, Numbered


class Dump(Numbered):
    """One ingested file or request body; the file itself is kept, compressed, beside the database."""

    sha256: orm.Mapped[str] = orm.mapped_column(sa.String(64), unique=True)
    filename: orm.Mapped[str] = orm.mapped_column(ExactText)
    format: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    bytes: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    """reading, done or failed"""
    error: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """code, message, at: where the whole dump could not be read"""
    problems: orm.Mapped[list[dict[str, str]]] = orm.mapped_column(ExactJson)
    problem_count: orm.Mapped[int] = orm.mapped_column(default=0)
    session_count: orm.Mapped[int] = orm.mapped_column(default=0)
    turn_count: orm.Mapped[int] = orm.mapped_column(default=0)
    received_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    home: orm.Mapped[str | None] = orm.mapped_column(ProfileName)
    """the home profile that was told when it came, over what the dump itself says"""
    mapping: orm.Mapped[dict[str, str] | None] = orm.mapped_column(ExactJson)
    """the mapping that it was read by"""
    not_in_log: orm.Mapped[list[str] | None] = orm.mapped_column(ExactJson)
    """which facts none of its responses has, see `webapp.dumps.answer_alarm`; null where no response was read"""


class DumpSession(Base):
    """Which sessions a dump holds, whether it brought them, made them grow or only repeated them."""

    dump_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("dump.id", ondelete="CASCADE"), primary_key=True)
    session_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    new_turns: orm.Mapped[int] = orm.mapped_column(default=0)


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

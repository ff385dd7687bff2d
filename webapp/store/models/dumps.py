"""The tables of dumps, of the jobs that read them or write exports, and of the mappings that they are read by."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import ExactJson, ExactText, ProfileName, ShortText, UtcDateTime
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


class Job(Numbered):
    """An import or an export that goes on behind a request: what it is about, how far it is, and how it ended."""

    kind: orm.Mapped[str] = orm.mapped_column(sa.String(16), server_default="import", default="import")
    """import or export"""
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16), index=True)
    """held, queued, running, done, failed or cancelled; of an export also removed"""
    filename: orm.Mapped[str] = orm.mapped_column(ExactText)
    spooled: orm.Mapped[str] = orm.mapped_column(sa.String(128))
    """the file in the data folder's dumps/incoming/ that the job owns until it ends; "" reads `dump_id`'s kept one"""
    bytes: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    format: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    home: orm.Mapped[str | None] = orm.mapped_column(ProfileName)
    mapping: orm.Mapped[dict[str, str] | None] = orm.mapped_column(ExactJson)
    selection: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """of an export, which sessions were asked for: see `store.jobs.export_jobs`"""
    progress: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """how far it came, as its worker says with each sign of life"""
    tries: orm.Mapped[int] = orm.mapped_column(default=0)
    """how many workers died over it"""
    owner: orm.Mapped[str | None] = orm.mapped_column(sa.String(128))
    """the worker that has it while it is running: see `store.jobs.claims`"""
    result: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """what came of it, or its error"""
    cancelled: orm.Mapped[bool] = orm.mapped_column(default=False)
    """asked to stop; the job ends when it next looks"""
    dump_id: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("dump.id", ondelete="SET NULL"))
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    beat_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    """the last sign of life of its worker, by the database's clock: one that is silent for long has lost it"""
    ended_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)


class Mapping(Numbered):
    """A saved way to read JSON of somebody's own: a name, and a path for each field."""

    name: orm.Mapped[str] = orm.mapped_column(ShortText(128), unique=True)
    fields: orm.Mapped[dict[str, str]] = orm.mapped_column(ExactJson)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class DumpSession(Base):
    """Which sessions a dump holds, whether it brought them, made them grow or only repeated them."""

    dump_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("dump.id", ondelete="CASCADE"), primary_key=True)
    session_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    new_turns: orm.Mapped[int] = orm.mapped_column(default=0)

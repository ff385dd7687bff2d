"""The tables of dumps, and of the mappings that they are read by."""

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

"""The tables of files that may grow: where the reading of each ended, and of each session in it."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import BigId, PackedBytes
from webapp.store.models.base import Base


class GrowingFile(Base):
    """Where the reading of a dump of lines ended; of each name of a file no more than the last one has a row."""

    __tablename__ = "growing_file"

    dump_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("dump.id", ondelete="CASCADE"), primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(64), index=True)
    """the SHA-256 of the file's name"""
    made_by: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    """the code that wrote this, and the rows of its sessions: no other code reads them"""
    state: orm.Mapped[bytes] = orm.mapped_column(PackedBytes)


class GrowingSession(Base):
    """Where the reading of a dump's session ended, and what its turns left, good while the session's `changed` is."""

    __tablename__ = "growing_session"

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

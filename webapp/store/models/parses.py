"""The tables of parses: what a profile made of each response, and the runs that made them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import ExactJson, PackedJson, ProfileName, UtcDateTime
from webapp.store.models.base import Base, Numbered, partial_index

UNDIGESTED = "value_digest IS NULL AND verdict IN ('clean', 'extracted', 'repaired')"
"""of parses that read a value which is nested too deep to be compared"""


class Parse(Numbered):
    """The stored trace of one response under one profile version."""

    __table_args__ = (
        sa.UniqueConstraint("turn_id", "profile"),
        partial_index(
            "ix_parse_failure_group", "profile", "failure_group", "turn_id", where="failure_group IS NOT NULL"
        ),
        sa.Index("ix_parse_value_digest", "profile", "turn_id", "value_digest", "version"),
        partial_index("ix_parse_undigested", "profile", "turn_id", where=UNDIGESTED),
    )

    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="CASCADE"))
    profile: orm.Mapped[str] = orm.mapped_column(ProfileName)
    version: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    verdict: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    strategy: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    truncated: orm.Mapped[bool] = orm.mapped_column(default=False)
    ambiguous: orm.Mapped[bool] = orm.mapped_column(default=False)
    exhausted: orm.Mapped[bool] = orm.mapped_column(default=False)
    microseconds: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    failure_group: orm.Mapped[str | None] = orm.mapped_column(sa.String(255))
    """the group of a parse whose verdict is failed, which `parsing.failure_group` makes of this trace and of the stored
    one of `fencepost`; NULL where a value was read, there was no candidate, or the profile was not run"""
    failure_path: orm.Mapped[str | None] = orm.mapped_column(sa.String(160))
    """the JSON path of the first edit that mends it; NULL where nothing does"""
    failure_tokens: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    value_digest: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    """64 bits, signed, of the SHA-256 of all values that were read, as `store.write.value_digest` writes them: equal
    where two profiles read the same JSON (1 is 1.0, keys have no order). NULL where nothing was read, and where a value
    is nested too deeply to be compared, though the verdict says that one was read: such are never the same"""
    trace: orm.Mapped[dict[str, Any]] = orm.mapped_column(PackedJson)


class ParseRepair(Base):
    """How often a parse needed a repair; a row only where it did."""

    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="CASCADE"), primary_key=True)
    profile: orm.Mapped[str] = orm.mapped_column(ProfileName, primary_key=True)
    repair: orm.Mapped[str] = orm.mapped_column(sa.String(64), primary_key=True)
    count: orm.Mapped[int]


class Run(Numbered):
    """A profile run over many stored responses."""

    profile: orm.Mapped[str] = orm.mapped_column(ProfileName)
    scope: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    progress: orm.Mapped[float] = orm.mapped_column(default=0.0)
    counts: orm.Mapped[dict[str, int] | None] = orm.mapped_column(ExactJson)
    total: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    """responses that it goes over, as counted when it was cut into chunks"""
    owner: orm.Mapped[str | None] = orm.mapped_column(sa.String(128))
    """the command that does it alone; NULL where workers share its chunks"""
    beat_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    """the last sign of life of its owner, by the database's clock"""
    started_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    finished_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)


class RunChunk(Base):
    """A part of a run that goes on: the responses of a range of turn ids, claimed by one worker at a time."""

    __table_args__ = (sa.Index("ix_run_chunk_state", "run_id", "state", "low"),)

    run_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    low: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, primary_key=True, autoincrement=False)
    high: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    """the last turn id, in the chunk"""
    session_ids: orm.Mapped[list[int] | None] = orm.mapped_column(ExactJson)
    """of which sessions alone, where filters narrow the run"""
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    """waiting, running or done"""
    owner: orm.Mapped[str | None] = orm.mapped_column(sa.String(128))
    beat_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    tries: orm.Mapped[int] = orm.mapped_column(default=0)
    """how many workers died over it"""
    uncounted: orm.Mapped[bool] = orm.mapped_column(default=False)
    """its session, of which it is a part, is folded once the last part is stored"""

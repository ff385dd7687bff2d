"""The tables of sessions and their turns, and of what was made of them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models.base import Base
from webapp.store.types import BigId, ExactJson, ExactText, PackedJson, PackedText, ShortText, UtcDateTime


class Session(Base):
    """One conversation of an agent; `(external_id, revision)` names it, `key` is the short form of that in URLs."""

    __tablename__ = "session"
    __table_args__ = (
        sa.UniqueConstraint("external_id", "revision"),
        sa.Index("ix_session_failed_happened", "failed", "happened_at", "id"),
    )

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    dump_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("dump.id"), index=True)
    external_id: orm.Mapped[str] = orm.mapped_column(ExactText)
    revision: orm.Mapped[int] = orm.mapped_column(default=1)
    key: orm.Mapped[str] = orm.mapped_column(sa.String(16), unique=True)
    if TYPE_CHECKING:
        newest: orm.MappedSQLExpression[bool]
        """whether no later revision has the same id, so that the id means this one"""
    title: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    source_format: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    home_profile: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    models: orm.Mapped[list[str]] = orm.mapped_column(ExactJson)
    started_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    ended_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    ingested_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    entry_count: orm.Mapped[int] = orm.mapped_column(default=0)
    turn_count: orm.Mapped[int] = orm.mapped_column(default=0)
    response_count: orm.Mapped[int] = orm.mapped_column(default=0)
    failed_count: orm.Mapped[int] = orm.mapped_column(default=0)
    rescued_count: orm.Mapped[int] = orm.mapped_column(default=0)
    clean_count: orm.Mapped[int] = orm.mapped_column(default=0)
    extracted_count: orm.Mapped[int] = orm.mapped_column(default=0)
    repaired_count: orm.Mapped[int] = orm.mapped_column(default=0)
    unparsed_count: orm.Mapped[int] = orm.mapped_column(default=0)
    """responses whose home verdict is failed; `failed_count` counts recorded failures too"""
    none_count: orm.Mapped[int] = orm.mapped_column(default=0)
    label_count: orm.Mapped[int] = orm.mapped_column(default=0)
    failed: orm.Mapped[bool] = orm.mapped_column(default=False)
    """failed_count > 0: with `happened_at` the order of the list"""
    happened_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    """started_at, or ingested_at where no turn has a time"""
    strip: orm.Mapped[str] = orm.mapped_column(sa.Text, default="")
    """one letter a response, in order: c e r n for the home verdict, f failed and s rescued in production"""
    extra: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    raw_bytes: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, default=0, server_default="0")
    """of all its turns' texts together, as UTF-8"""
    facets: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """what the list filters by and statistics add up, counted over the session's turns; see `store.facets`"""
    changed: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, default=0, server_default="0", index=True)
    """grows with every change to the session: whoever keeps an index reads on from the last one; `dialect.change`"""
    grown_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    """when turns last came; the page of a session that grew a moment ago looks for more"""
    deleted_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    """hidden everywhere, and gone for good after a while"""


class SessionModel(Base):
    """Which models wrote in a session: what the list filters by and counts."""

    __tablename__ = "session_model"

    model: orm.Mapped[str] = orm.mapped_column(ShortText(255), primary_key=True)
    session_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True, index=True
    )


_later = Session.__table__.alias("later")
Session.newest = orm.column_property(
    ~sa.exists().where(
        _later.c.external_id == Session.external_id,
        _later.c.revision > Session.revision,
        _later.c.deleted_at.is_(None),
    )
)


class Turn(Base):
    """One turn; an entry that its logger wrote twice is a row of its own at the same position, with `duplicate_of`."""

    __tablename__ = "turn"
    __table_args__ = (
        sa.Index("ix_turn_session_position", "session_id", "position"),
        sa.Index("ix_turn_session_ordinal", "session_id", "ordinal", unique=True),
        sa.Index(
            "ix_turn_duplicate_of",
            "duplicate_of",
            sqlite_where=sa.text("duplicate_of IS NOT NULL"),
            postgresql_where=sa.text("duplicate_of IS NOT NULL"),
        ),
    )

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True, autoincrement=False)
    session_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("session.id", ondelete="CASCADE"))
    ordinal: orm.Mapped[int]
    """from 0, in the order that the dump gave, duplicates included"""
    position: orm.Mapped[int]
    entry: orm.Mapped[int]
    duplicate_of: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="CASCADE"))
    kind: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    role: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    agent: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    model: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    phase: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    sounding: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    round: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    attempt: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    parent: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    recorded_failure: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    """what the dump itself says went wrong with this response"""
    raw: orm.Mapped[str | None] = orm.mapped_column(PackedText)
    raw_sha256: orm.Mapped[bytes | None] = orm.mapped_column(sa.LargeBinary(32))
    tool_calls: orm.Mapped[list[Any] | None] = orm.mapped_column(ExactJson)
    sent_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    tokens_in: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    tokens_out: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    cost: orm.Mapped[float | None]
    source: orm.Mapped[Any | None] = orm.mapped_column(PackedJson)
    raw_at: orm.Mapped[list[Any] | None] = orm.mapped_column(ExactJson)
    entry_sha256: orm.Mapped[bytes | None] = orm.mapped_column(sa.LargeBinary(32))
    """of the entry as it came, on an entry's first turn: how growth is told from another past"""


class LiveSpan(Base):
    """An OpenTelemetry span that a session holds as one of its entries: spans come late, twice and in any order."""

    __tablename__ = "live_span"
    __table_args__ = (sa.Index("ix_live_span_order", "session_id", "started", "entry"),)

    trace: orm.Mapped[bytes] = orm.mapped_column(sa.LargeBinary(16), primary_key=True)
    span: orm.Mapped[bytes] = orm.mapped_column(sa.LargeBinary(8), primary_key=True)
    session_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    started: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    """nanoseconds since 1970; -2**62 where the span does not say"""
    entry: orm.Mapped[int]
    ordinal: orm.Mapped[int]
    """of its first turn"""
    turns: orm.Mapped[int]


class Parse(Base):
    """The stored trace of one response under one profile version."""

    __tablename__ = "parse"
    __table_args__ = (sa.UniqueConstraint("turn_id", "profile"),)

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="CASCADE"))
    profile: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    version: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    verdict: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    strategy: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    truncated: orm.Mapped[bool] = orm.mapped_column(default=False)
    ambiguous: orm.Mapped[bool] = orm.mapped_column(default=False)
    exhausted: orm.Mapped[bool] = orm.mapped_column(default=False)
    microseconds: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    trace: orm.Mapped[dict[str, Any]] = orm.mapped_column(PackedJson)


class ParseRepair(Base):
    """How often a parse needed a repair; a row only where it did."""

    __tablename__ = "parse_repair"

    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="CASCADE"), primary_key=True)
    profile: orm.Mapped[str] = orm.mapped_column(sa.String(64), primary_key=True)
    repair: orm.Mapped[str] = orm.mapped_column(sa.String(64), primary_key=True)
    count: orm.Mapped[int]


class Finding(Base):
    """Something a rule noticed about a whole session, with the turns that show it."""

    __tablename__ = "finding"

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    session_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("session.id", ondelete="CASCADE"), index=True)
    rule: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    severity: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    turns: orm.Mapped[list[int]] = orm.mapped_column(ExactJson)
    detail: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)


class SavedView(Base):
    """Filters of the list under a name."""

    __tablename__ = "saved_view"

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(ShortText(128), unique=True)
    query: orm.Mapped[str] = orm.mapped_column(ExactText)
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class Run(Base):
    """A profile run over many stored responses."""

    __tablename__ = "run"

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    profile: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    scope: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    progress: orm.Mapped[float] = orm.mapped_column(default=0.0)
    counts: orm.Mapped[dict[str, int] | None] = orm.mapped_column(ExactJson)
    started_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    finished_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)

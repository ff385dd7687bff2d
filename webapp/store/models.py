"""The tables, as typed models."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.types import BigId, ExactJson, ExactText, PackedJson, PackedText, ShortText, UtcDateTime

TURNS_A_SESSION = 2**24
"""Turn ids are `session.id * TURNS_A_SESSION + ordinal`: known before the insert; a session's turns lie together."""


class Base(orm.DeclarativeBase):
    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Dump(Base):
    """One ingested file or request body; the file itself is kept, compressed, beside the database."""

    __tablename__ = "dump"

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
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
    home: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    """the home profile that was told when it came, over what the dump itself says"""
    mapping: orm.Mapped[dict[str, str] | None] = orm.mapped_column(ExactJson)
    """the mapping that it was read by"""


class Job(Base):
    """One ingest that goes on behind a request: what it reads, how far it is, and how it ended."""

    __tablename__ = "job"

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16), index=True)
    """queued, running, done, failed or cancelled"""
    filename: orm.Mapped[str] = orm.mapped_column(ExactText)
    spooled: orm.Mapped[str] = orm.mapped_column(sa.String(128))
    """the file in the data folder's dumps/incoming/ that the job owns until it ends; "" reads `dump_id`'s kept one"""
    bytes: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    format: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    home: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    mapping: orm.Mapped[dict[str, str] | None] = orm.mapped_column(ExactJson)
    progress: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """how far it came; while it runs this lies in a file, since no row can be written beside a long transaction"""
    tries: orm.Mapped[int] = orm.mapped_column(default=0)
    """how many workers died over it"""
    result: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """what the ingest answered, or its error"""
    cancelled: orm.Mapped[bool] = orm.mapped_column(default=False)
    """asked to stop; the job ends when it next looks"""
    dump_id: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("dump.id", ondelete="SET NULL"))
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    beat_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    """when its worker was last alive: a running job whose worker is gone is taken up again"""
    ended_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)


class Mapping(Base):
    """A saved way to read JSON of somebody's own: a name, and a path for each field."""

    __tablename__ = "mapping"

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(ShortText(128), unique=True)
    fields: orm.Mapped[dict[str, str]] = orm.mapped_column(ExactJson)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


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


class DumpSession(Base):
    """Which sessions a dump holds, whether it brought them, made them grow or only repeated them."""

    __tablename__ = "dump_session"

    dump_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("dump.id", ondelete="CASCADE"), primary_key=True)
    session_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    new_turns: orm.Mapped[int] = orm.mapped_column(default=0)


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


class Label(Base):
    """What one person said of one response."""

    __tablename__ = "label"
    __table_args__ = (sa.UniqueConstraint("turn_id", "author"),)

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="RESTRICT"))
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    judgement: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    cause: orm.Mapped[str | None] = orm.mapped_column(sa.String(128), index=True)
    expected: orm.Mapped[Any | None] = orm.mapped_column(ExactJson)
    """the one value where `has_expected` and `expects` is one; the list of values where it is several"""
    has_expected: orm.Mapped[bool] = orm.mapped_column(default=False)
    expects: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    """one, several, none (no JSON is meant here) or unknown (cut off); None where nothing was said"""
    note: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    seconds: orm.Mapped[float | None]
    """how long the person looked at it, where the queue measured that"""
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class LabelEvent(Base):
    """What happened to a turn's labels, in order: nothing is overwritten without trace."""

    __tablename__ = "label_event"

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="CASCADE"), index=True)
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    action: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    """put, removed, undone, settled, unsettled, imported, renamed or resettled (its cause was renamed)"""
    said: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)
    """the label as it then was"""
    happened_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class FinalLabel(Base):
    """How a disagreement about a response was settled, by whom and why."""

    __tablename__ = "final_label"

    turn_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("turn.id", ondelete="RESTRICT"), primary_key=True, autoincrement=False
    )
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    judgement: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    cause: orm.Mapped[str | None] = orm.mapped_column(sa.String(128))
    expected: orm.Mapped[Any | None] = orm.mapped_column(ExactJson)
    expects: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    why: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class Cause(Base):
    """A cause of one's own: where it stands in the tree, or which one it was merged into."""

    __tablename__ = "cause"

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(ShortText(128), unique=True)
    parent: orm.Mapped[str | None] = orm.mapped_column(ShortText(128))
    merged_into: orm.Mapped[str | None] = orm.mapped_column(ShortText(128))
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class LabelQueue(Base):
    """Responses to label in one order, gathered from a stretch of sessions at a time; see `store.labelling.queue`."""

    __tablename__ = "label_queue"

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    spec: orm.Mapped[str] = orm.mapped_column(ShortText(1024), unique=True)
    """which responses, in which order: as the URL says it"""
    state: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)
    """how far the sessions have been gone through"""
    complete: orm.Mapped[bool] = orm.mapped_column(default=False)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class LabelQueueItem(Base):
    """One response of a queue: by `rank`, then by turn; near-identical ones share their `likeness`."""

    __tablename__ = "label_queue_item"
    __table_args__ = (
        sa.Index("ix_label_queue_item_order", "queue_id", "rank", "turn_id"),
        sa.Index("ix_label_queue_item_likeness", "queue_id", "likeness"),
    )

    queue_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("label_queue.id", ondelete="CASCADE"), primary_key=True)
    turn_id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True, autoincrement=False)
    session_id: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    rank: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    likeness: orm.Mapped[bytes] = orm.mapped_column(sa.LargeBinary(16))


class Compared(Base):
    """What every profile made of a labelled response, as of so many `events` of its labels: see store/compared.py."""

    __tablename__ = "compared"

    turn_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("turn.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    session_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("session.id", ondelete="CASCADE"), index=True)
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    """known, unknown (nothing said of what was meant) or disputed"""
    model: orm.Mapped[str] = orm.mapped_column(ExactText)
    cause: orm.Mapped[str] = orm.mapped_column(sa.String(128))
    meant: orm.Mapped[str | None] = orm.mapped_column(sa.String(32))
    """the beginning of the sha256 of the values that were meant"""
    events: orm.Mapped[int]
    profiles: orm.Mapped[str] = orm.mapped_column(sa.String(32))
    """the beginning of the sha256 of the profiles' names and versions"""
    results: orm.Mapped[str] = orm.mapped_column(sa.Text)
    """as JSON, by profile: version, outcome, policy, strategy"""
    parses: orm.Mapped[int | None]
    """how many parses were stored, where the response was too long to be parsed for this"""


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

"""The tables of sessions: their turns, what they can be found by, and what the rules find in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.dumps import records
from webapp.dumps.records import MODEL_KINDS as MODEL_KINDS
from webapp.store.db.ids import TURNS_A_SESSION as TURNS_A_SESSION
from webapp.store.db.types import (
    Base,
    BigId,
    ExactJson,
    ExactText,
    Numbered,
    PackedJson,
    PackedText,
    ProfileName,
    ShortText,
    UtcDateTime,
)


def turns_of(turn_id: Any, session_id: Any) -> sa.ColumnElement[bool]:
    """Whether a turn's number is one of that session."""
    first = session_id * TURNS_A_SESSION
    is_of: sa.ColumnElement[bool] = turn_id.between(first, first + TURNS_A_SESSION - 1)
    return is_of


def partial_index(name: str, *columns: str, where: str) -> sa.Index:
    """An index of those rows alone for which the SQL `where` is true."""
    return sa.Index(name, *columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


_TOTALLED = ("deleted_at", "failed_count", "rescued_count", "label_count", "response_count", "turn_count")
"""what is added up over all sessions in view, from an index alone"""


class Session(Numbered):
    """One conversation of an agent; `(external_id, revision)` names it, `key` is the short form of that in URLs."""

    __table_args__ = (
        sa.UniqueConstraint("external_id", "revision"),
        sa.Index("ix_session_failing", "failed", "happened_at", "id", *_TOTALLED),
        sa.Index("ix_session_time", "happened_at", "id", "deleted_at"),
        sa.Index("ix_session_failures", "failing_count", "happened_at", "id", "deleted_at"),
        sa.Index("ix_session_length", "response_count", "happened_at", "id", "deleted_at"),
        sa.Index("ix_session_ended_at", "ended_at", "happened_at", "id"),
        partial_index("ix_session_home_change", "home_change", "id", where="home_change IS NOT NULL"),
        partial_index("ix_session_stale", "id", where="stale"),
        partial_index("ix_session_deleted_at", "deleted_at", "changed", where="deleted_at IS NOT NULL"),
    )

    dump_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("dump.id"), index=True)
    external_id: orm.Mapped[str] = orm.mapped_column(ExactText)
    revision: orm.Mapped[int] = orm.mapped_column(default=1)
    key: orm.Mapped[str] = orm.mapped_column(sa.String(16), unique=True)
    if TYPE_CHECKING:
        newest: orm.MappedSQLExpression[bool]
        """whether no later revision has the same id, so that the id means this one"""
    title: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    source_format: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    home_profile: orm.Mapped[str] = orm.mapped_column(ProfileName)
    """the parser that its program used, or "unknown", which is no profile's name"""
    home_source: orm.Mapped[str] = orm.mapped_column(sa.String(16), server_default="unknown", index=True)
    """who named it: see `store.write.parser`"""
    home_change: orm.Mapped[int | None] = orm.mapped_column(BigId)
    """the change of homes that was last asked for this session, see `store.homes.changes` …"""
    other_profile: orm.Mapped[str | None] = orm.mapped_column(ProfileName)
    other_source: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    """… and the home that it is to get by that; once it has it, the one that it had before"""
    service: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    """what its program calls itself, where the log says so"""
    tried: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """under an unknown home: by verdict (failed, none) how many responses have it under each profile"""
    tried_key: orm.Mapped[str | None] = orm.mapped_column(sa.String(32))
    """of which profiles and how many responses `tried` speaks: see `store.homes.trials`"""
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
    """responses whose home verdict is failed; `failed_count` counts recorded failures too.
    Under an unknown home the five count what `fencepost` makes of the responses, and none of them is a failure."""
    none_count: orm.Mapped[int] = orm.mapped_column(default=0)
    label_count: orm.Mapped[int] = orm.mapped_column(default=0)
    failing_count: orm.Mapped[int] = orm.mapped_column(default=0)
    """failed responses; under an unknown home, too, those that would have failed under `json.loads`: what lists show"""
    failed: orm.Mapped[bool] = orm.mapped_column(default=False)
    """whether there is one of them: with `happened_at` the order of the list"""
    happened_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    """started_at, or ingested_at where no turn has a time"""
    strip: orm.Mapped[str] = orm.mapped_column(sa.Text, default="")
    """one letter a response, in order: c e r n for the home verdict, f failed and s rescued in production, x not run;
    of an unknown home c e r n are what `fencepost` makes of it, and u what that cannot read either"""
    extra: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    raw_bytes: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, default=0, server_default="0")
    """of all its turns' texts together, as UTF-8"""
    changed: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, default=0, server_default="0", index=True)
    """when the session changed last, in microseconds since 1970, by the clock of who did it; see `dialect.change`"""
    grown_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    """when spans or a watched file last brought turns; the page of such a session looks for more for a while"""
    stale: orm.Mapped[bool] = orm.mapped_column(default=False)
    """whether turns came of which nothing is made yet: see `store.derive`"""
    deleted_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    """hidden everywhere, and gone for good after a while"""

    finding_rows: orm.Mapped[list[Finding]] = orm.relationship(viewonly=True)

    @cached_property
    def findings(self) -> dict[str, int]:
        """How many findings of each rule it has; a list of sessions asks for those of all at once."""
        return dict(Counter(finding.rule for finding in self.finding_rows))

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """How many responses have each verdict: clean, extracted, repaired, failed, none."""
        read = (self.clean_count, self.extracted_count, self.repaired_count)
        return (*read, self.unparsed_count, self.none_count)

    @property
    def not_run_count(self) -> int:
        """How many responses did not fail, as far as that is known without the home profile, which was not run."""
        return self.strip.count("x")

    @property
    def first_profile(self) -> str:
        """What a page shows its responses under at first: the home profile, `fencepost` where that is unknown."""
        return "fencepost" if self.home_profile == "unknown" else self.home_profile


class FacetValue(Numbered):
    """A value that sessions have under a name: `store.write.facets` says which names there are."""

    __table_args__ = (sa.UniqueConstraint("name", "value"),)

    name: orm.Mapped[str] = orm.mapped_column(ShortText(300))
    value: orm.Mapped[str] = orm.mapped_column(ShortText(255))


class SessionFacet(Base):
    """How often a session has a value: what the list filters by, facets count and statistics add up."""

    __table_args__ = (
        sa.Index("ix_session_facet_value", "value_id", "session_id", "count"),
        {"sqlite_with_rowid": False},
    )

    session_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True)
    value_id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    count: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)


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

    __table_args__ = (
        sa.Index("ix_turn_session_position", "session_id", "position"),
        sa.Index("ix_turn_session_ordinal", "session_id", "ordinal", unique=True),
        partial_index("ix_turn_recorded_failure", "id", where="recorded_failure IS NOT NULL"),
        partial_index("ix_turn_duplicate_of", "duplicate_of", where="duplicate_of IS NOT NULL"),
        partial_index("ix_turn_declaration_id", "declaration_id", where="declaration_id IS NOT NULL"),
    )

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True, autoincrement=False)
    session_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("session.id", ondelete="CASCADE"))
    ordinal: orm.Mapped[int]
    """from 0, in the order that the dump gave, duplicates included"""
    position: orm.Mapped[int]
    entry: orm.Mapped[int]
    duplicate_of: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="CASCADE"))
    answers: orm.Mapped[int | None]
    """of an error, the ordinal of the response that it speaks of"""
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
    tokens_reasoning: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    cost: orm.Mapped[float | None]
    source: orm.Mapped[Any | None] = orm.mapped_column(PackedJson)
    raw_at: orm.Mapped[list[Any] | None] = orm.mapped_column(ExactJson)
    entry_sha256: orm.Mapped[bytes | None] = orm.mapped_column(sa.LargeBinary(32))
    """of the entry as it came, on an entry's first turn: how growth is told from another past"""
    declaration_id: orm.Mapped[int | None] = orm.mapped_column(BigId)
    """what the request of this response declares: see `Declaration`"""
    stop: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    """why the model stopped, by the words of `dumps.messages.metadata` …"""
    stop_said: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    """… and by the log's own"""
    arguments: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    """of a call: whether `raw` is written, decoded, free or its provider's, see `dumps.records.Turn`"""
    host: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    """who served the model: a provider, else an address, else a fingerprint"""
    is_error: orm.Mapped[bool | None]
    most_rounds: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)


_others = ("duplicate_of", "answers", "stop")
_columns = {column.name for column in Turn.__table__.columns}.difference(_others)
SAME_IN_TURNS = tuple(field.name for field in fields(records.Turn) if field.name in _columns)
"""fields of a turn that are columns under the same name; the others are kept otherwise than they came"""

is_response = sa.and_(Turn.kind.in_(MODEL_KINDS), Turn.raw.is_not(None), Turn.duplicate_of.is_(None))
"""whether a turn is a text that a model wrote, and no copy of another"""


class Finding(Numbered):
    """Something a rule noticed about a whole session, with the turns that show it."""

    session_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("session.id", ondelete="CASCADE"), index=True)
    rule: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    severity: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    turns: orm.Mapped[list[int]] = orm.mapped_column(ExactJson)
    detail: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)

"""The tables of what comes in and of what goes on behind a request (dumps, live spans and logs, tasks), and of what was
made of responses: parses, contracts, search."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts.contract import BROKEN
from webapp.store.db.types import Base, BigId, ExactJson, ExactText, Numbered, PackedJson, ProfileName, UtcDateTime

ANSWERS_MISSING = "answers_missing"
"""the code of a problem that says that a session was read without its answers"""


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
    if TYPE_CHECKING:
        sessions: Sequence[Any]
        """key, external_id and newest of its first ones, where it is a line of a list: see `store.sessions.dumps`"""

    @property
    def answers_missing(self) -> bool:
        """Whether a session was read without an answer, or mostly empty; see `webapp.dumps.answer_alarm`."""
        return any(problem.get("code") == ANSWERS_MISSING for problem in self.problems)

    def _asdict(self) -> dict[str, Any]:
        """A line of a list, as commands print it."""
        columns = {column.name: getattr(self, column.name) for column in Dump.__table__.columns}
        return {**columns, "sessions": self.sessions, "answers_missing": self.answers_missing}


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


LIVE = ("queued", "running")
"""states of a task that waits or goes on"""


class Task(Numbered):
    """An import, replay, change of homes, export or prune: what it is about, how far it is, and how it ended.

    What `about`, `progress` and `result` have, the module of its kind says.
    """

    kind: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    """import, replay, homes, export or prune"""
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16), index=True)
    """held, queued, running, done, failed, cancelled or interrupted; of an export also removed"""
    about: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)
    """what it is to do"""
    progress: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson, nullable=True)
    """how far it came; {} before it began"""
    result: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """what came of it, or the `error` (code, message, at) that says why nothing did"""
    tries: orm.Mapped[int] = orm.mapped_column(default=0)
    """how many workers died over it"""
    dump_id: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("dump.id", ondelete="SET NULL"))
    """the dump that an import makes or reads again, once there is one"""
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    began_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    ended_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)

    @property
    def live(self) -> bool:
        """Whether it waits or goes on."""
        return self.state in LIVE


class Parse(Numbered):
    """The stored trace of one response under one profile version."""

    __table_args__ = (
        sa.UniqueConstraint("turn_id", "profile"),
        sa.Index("ix_parse_value_digest", "profile", "turn_id", "value_digest", "verdict", "version"),
    )

    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="CASCADE"))
    profile: orm.Mapped[str] = orm.mapped_column(ProfileName)
    version: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    verdict: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    strategy: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    repairs: orm.Mapped[str | None] = orm.mapped_column(sa.Text)
    """the names of those that it needed, each between commas"""
    truncated: orm.Mapped[bool] = orm.mapped_column(default=False)
    ambiguous: orm.Mapped[bool] = orm.mapped_column(default=False)
    microseconds: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    value_digest: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    """64 bits, signed, of the SHA-256 of all values that were read, as `store.write.rows` writes them: equal
    where two profiles read the same JSON (1 is 1.0, keys have no order). NULL where nothing was read, and where a value
    is nested too deeply to be compared, though the verdict says that one was read: such are never the same"""
    trace: orm.Mapped[dict[str, Any]] = orm.mapped_column(PackedJson)


def has_failed(turn: Any) -> sa.ColumnElement[bool]:
    """Whether a response, of which these are the columns, failed whatever its parser made of it: its dump records
    that, or it breaks what its request declares."""
    is_broken = sa.func.coalesce(contract_state(turn).in_(BROKEN), sa.false())
    return sa.or_(turn.recorded_failure.is_not(None), is_broken)


def has_mark(turn: Any) -> sa.ColumnElement[bool]:
    """Whether a response counts, and has a letter in its session's strip: it has a text, or failed without one."""
    return sa.or_(turn.raw.is_not(None), has_failed(turn))


def contract_state(turn: Any) -> sa.ScalarSelect[str]:
    """The state of a response, of which these are the columns, under its contract; NULL where nothing is declared."""
    return sa.select(TurnContract.state).where(TurnContract.turn_id == turn.id).scalar_subquery()


class Declaration(Base):
    """What a request declares, once however many turns refer to it; its number is made of its content."""

    id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True, autoincrement=False)
    content: orm.Mapped[dict[str, Any]] = orm.mapped_column(PackedJson)


class TurnContract(Base):
    """How a response keeps what its request declares; none for one of which the log does not say what that is."""

    __table_args__ = (sa.Index("ix_turn_contract_state", "state", "turn_id"),)

    turn_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("turn.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    state: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    detail: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """all of it, as the API gives it; None where it is kept"""


_SYMBOLS = (
    (0x20BA, 0x20C0),
    (0x218A, 0x218B),
    (0x2066, 0x2069),
    (0x23F4, 0x23FF),
    (0x2700, 0x2700),
    (0x2B4D, 0x2BFF),
    (0x2E3C, 0x2E5D),
    (0x1F19B, 0x1F1AD),
    (0x1F260, 0x1F265),
    (0x1F300, 0x1F6FF),
    (0x1F780, 0x1F7F0),
    (0x1F900, 0x1FAFF),
)
"""What Unicode has as symbols and SQLite's tables, of Unicode 6.1, have not: to those it would be part of a word."""
_separators = "".join(chr(code) for first, last in _SYMBOLS for code in range(first, last + 1))
_cut = f"tokenize=\"unicode61 remove_diacritics 0 tokenchars '_' separators '{_separators}'\", columnsize=0"

SEARCH_TABLES: dict[str, tuple[str, ...]] = {
    "sqlite": (
        f"CREATE VIRTUAL TABLE search_raw USING fts5(raw, content='', {_cut})",
        f"CREATE VIRTUAL TABLE search_note USING fts5(text, {_cut})",
    ),
    "postgresql": (
        "CREATE TABLE search_raw (rowid BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
        "CREATE INDEX ix_search_raw_words ON search_raw USING gin (words)",
        "CREATE TABLE search_note (rowid BIGINT PRIMARY KEY, text BYTEA NOT NULL, words TSVECTOR NOT NULL)",
        "CREATE INDEX ix_search_note_words ON search_note USING gin (words)",
    ),
}
"""By database what makes them, in this order."""

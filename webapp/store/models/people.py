"""The tables of people: accounts, labels, what they saved, and what they say of failure groups."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import Base, BigId, ExactJson, ExactText, Numbered, ShortText, UtcDateTime


class Label(Numbered):
    """What one person said of one response."""

    __table_args__ = (sa.UniqueConstraint("turn_id", "author"),)

    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="RESTRICT"))
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    judgement: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    cause: orm.Mapped[str | None] = orm.mapped_column(sa.String(128), index=True)
    expected: orm.Mapped[Any | None] = orm.mapped_column(ExactJson)
    """the one value where `expects` is one; the list of values where it is several"""
    expects: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    """one, several, none (no JSON is meant here) or unknown (cut off); None where nothing was said"""
    note: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    seconds: orm.Mapped[float | None]
    """how long the person looked at it, where the queue measured that"""
    source: orm.Mapped[str | None] = orm.mapped_column(sa.String(128))
    """where the expected value came from: a profile's name; None where somebody typed it"""
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)

    @property
    def has_expected(self) -> bool:
        return self.expects in ("one", "several")


class LabelEvent(Numbered):
    """What happened to a turn's labels, in order: nothing is overwritten without trace."""

    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="CASCADE"), index=True)
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    action: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    """put, removed, undone, settled, unsettled, imported, renamed or resettled (its cause was renamed)"""
    said: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)
    """the label as it then was, with `was` (what it replaced) and `batch` (one for all that one save wrote); `like`
    names the response whose label was given to this one too"""
    happened_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)

    def as_dict(self) -> dict[str, Any]:
        """As exports and `label list --json` write it."""
        at = self.happened_at.isoformat()
        return {"action": self.action, "author": self.author, "happened_at": at, "said": self.said}


class FinalLabel(Base):
    """How a disagreement about a response was settled, by whom and why."""

    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="RESTRICT"), primary_key=True)
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    judgement: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    cause: orm.Mapped[str | None] = orm.mapped_column(sa.String(128))
    expected: orm.Mapped[Any | None] = orm.mapped_column(ExactJson)
    expects: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    why: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class SavedItem(Numbered):
    """What somebody saved for everybody: see `store.saved`."""

    __table_args__ = (sa.UniqueConstraint("kind", "name"),)

    kind: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    """view, mapping, cause, sample, webhook, or the service or format whose parser a rule names"""
    name: orm.Mapped[str] = orm.mapped_column(ShortText(255))
    content: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class Compared(Base):
    """What profiles made of a labelled response where these values were meant: see `store.compare.profile_results`."""

    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="CASCADE"), primary_key=True)
    meant: orm.Mapped[str] = orm.mapped_column(sa.String(32))
    """the beginning of the sha256 of the values that were meant"""
    results: orm.Mapped[str] = orm.mapped_column(sa.Text)
    """as JSON, by profile: version, outcome, policy, strategy"""


class FailedResponse(Base):
    """A response that failed under a profile, or under home: made of its traces by `store.write.failed_responses`."""

    __table_args__ = (
        sa.Index("ix_failed_response_group_key", "under", "group_key", "at", "turn_id", "session_id"),
        {"sqlite_with_rowid": False},
    )

    under: orm.Mapped[str] = orm.mapped_column(sa.String(255), primary_key=True)
    session_id: orm.Mapped[int] = orm.mapped_column(
        sa.ForeignKey("session.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    turn_id: orm.Mapped[int] = orm.mapped_column(BigId, primary_key=True)
    group_key: orm.Mapped[str] = orm.mapped_column(sa.String(255))
    at: orm.Mapped[int] = orm.mapped_column(sa.BigInteger)
    """when it was sent, else when its session happened; in microseconds since the year 1"""
    model: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    agent: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    phase: orm.Mapped[str | None] = orm.mapped_column(ShortText(255))
    tools: orm.Mapped[list[str] | None] = orm.mapped_column(ExactJson)
    path: orm.Mapped[str | None] = orm.mapped_column(sa.String(160))
    tokens: orm.Mapped[str | None] = orm.mapped_column(sa.String(64))
    tokens_in: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    tokens_out: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    cost: orm.Mapped[float | None]
    seconds: orm.Mapped[float | None]
    """from when the turn before it was sent; None where the log does not say both times"""
    profile: orm.Mapped[str] = orm.mapped_column(sa.String(255))
    """of the parse that failed; "" where the dump alone says that the response failed"""
    version: orm.Mapped[str] = orm.mapped_column(sa.String(16))


class FailureEvent(Numbered):
    """What somebody said of a group: its last state is in force, so are its last assignment and merge; all stay."""

    __table_args__ = (sa.Index("ix_failure_event_group_key", "group_key", "id"),)

    group_key: orm.Mapped[str] = orm.mapped_column(sa.String(255))
    action: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    """state, assign or merge"""
    state: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    """open, resolved or ignored; of a merge None, or undone where it is taken back"""
    target: orm.Mapped[str | None] = orm.mapped_column(sa.String(255))
    """of a merge: the group that this one is part of"""
    profile: orm.Mapped[str | None] = orm.mapped_column(sa.String(255))
    version: orm.Mapped[str | None] = orm.mapped_column(sa.String(16))
    """of a resolved group: the profile's version that mends it; both None where it is resolved by date"""
    until: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    """of a resolved group: from when on it must not be seen; of an ignored one: how long it is ignored"""
    grows: orm.Mapped[float | None] = orm.mapped_column(sa.Double())
    """of an ignored group: until it has so many times the responses"""
    count: orm.Mapped[int | None] = orm.mapped_column(sa.BigInteger)
    """how many responses the group had then"""
    assignee: orm.Mapped[str | None] = orm.mapped_column(ExactText)
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    reason: orm.Mapped[str] = orm.mapped_column(ExactText)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class Account(Numbered):
    """Somebody who may sign in."""

    name: orm.Mapped[str] = orm.mapped_column(sa.String(200))
    """the author of their labels"""
    name_key: orm.Mapped[str] = orm.mapped_column(sa.String(600), unique=True)
    """the name without case and compatibility forms: two that look alike are one"""
    role: orm.Mapped[str] = orm.mapped_column(sa.String(16))
    password: orm.Mapped[str | None] = orm.mapped_column(sa.String(255))
    """an argon2id hash; None for who signs in elsewhere alone"""
    subject: orm.Mapped[str | None] = orm.mapped_column(sa.String(600), unique=True)
    """issuer and subject at an OpenID provider, with a space between them"""
    stamp: orm.Mapped[str] = orm.mapped_column(sa.String(32))
    """random; another one ends every login of the account"""
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    signed_in_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)


class ApiToken(Numbered):
    """What a program sends in place of its account's password; the token itself is kept nowhere."""

    account_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("account.id", ondelete="CASCADE"), index=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(200))
    digest: orm.Mapped[str] = orm.mapped_column(sa.String(64), unique=True)
    """SHA-256 of the token, in hexadecimal digits"""
    scopes: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    """rights, with spaces between them"""
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)
    used_at: orm.Mapped[datetime | None] = orm.mapped_column(UtcDateTime)
    """to the minute"""


class AuditEntry(Numbered):
    """One write: who asked for what, and what came of it. It outlives the account, so it names it in words."""

    at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime, index=True)
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    via: orm.Mapped[str] = orm.mapped_column(sa.String(255))
    """how they proved who they are: sign-in, API token and its name, token, proxy, command"""
    peer: orm.Mapped[str] = orm.mapped_column(sa.String(64))
    act: orm.Mapped[str] = orm.mapped_column(sa.String(100))
    """the route's or the command's name"""
    object: orm.Mapped[str] = orm.mapped_column(ExactText)
    """method and address, or the command's object"""
    detail: orm.Mapped[dict[str, Any] | None] = orm.mapped_column(ExactJson)
    """fields of the form that name the object further"""
    status: orm.Mapped[int | None]
    """the answer's; None where the request never came to its end"""

    @property
    def outcome(self) -> str:
        if self.status is None:
            return "unknown: it never ended"
        if self.status == 0:
            return "done"
        return f"done ({self.status})" if self.status < 400 else f"refused ({self.status})"


class DatabaseSecret(Base):
    """Made once, by whichever machine needs it first: see `store.db.database`."""

    name: orm.Mapped[str] = orm.mapped_column(sa.String(64), primary_key=True)
    value: orm.Mapped[bytes] = orm.mapped_column(sa.LargeBinary)

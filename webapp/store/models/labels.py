"""The tables of what people say of responses, and of what follows from it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.types import BigId, ExactJson, ExactText, ShortText, UtcDateTime
from webapp.store.models.base import Base, Numbered


class Label(Numbered):
    """What one person said of one response."""

    __table_args__ = (sa.UniqueConstraint("turn_id", "author"),)

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
    source: orm.Mapped[str | None] = orm.mapped_column(sa.String(128))
    """where the expected value came from: a profile's name; None where somebody typed it"""
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


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


class Cause(Numbered):
    """A cause of one's own: where it stands in the tree, or which one it was merged into."""

    name: orm.Mapped[str] = orm.mapped_column(ShortText(128), unique=True)
    parent: orm.Mapped[str | None] = orm.mapped_column(ShortText(128))
    merged_into: orm.Mapped[str | None] = orm.mapped_column(ShortText(128))
    author: orm.Mapped[str] = orm.mapped_column(ExactText)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class LabelQueue(Numbered):
    """Responses to label in one order, gathered a stretch of sessions at a time: see `store.labels.queues`."""

    spec: orm.Mapped[str] = orm.mapped_column(ShortText(1024), unique=True)
    """which responses, in which order: as the URL says it"""
    state: orm.Mapped[dict[str, Any]] = orm.mapped_column(ExactJson)
    """how far the sessions have been gone through"""
    complete: orm.Mapped[bool] = orm.mapped_column(default=False)
    made_at: orm.Mapped[datetime] = orm.mapped_column(UtcDateTime)


class LabelQueueItem(Base):
    """One response of a queue: by `rank`, then by turn; near-identical ones share their `likeness`."""

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
    """What every profile made of a labelled response, as of so many `events` of its labels: see `store.scores`."""

    turn_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("turn.id", ondelete="CASCADE"), primary_key=True)
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

"""History: what happened to each turn's labels, in order, so that nothing is overwritten without trace."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models import FinalLabel, Label, LabelEvent

SETTLING = ("settled", "unsettled", "resettled")
"""what happens to the settled label of a response; resettled is a cause that was renamed"""
RENAMING = ("renamed", "resettled")
ACTIONS = ("put", "removed", "undone", "imported", *SETTLING, *RENAMING)
FIELDS = ("judgement", "cause", "expects", "expected", "note", "seconds", "source")
SETTLED_FIELDS = ("judgement", "cause", "expects", "expected", "why")


def content_of(label: Label | FinalLabel) -> dict[str, Any]:
    """What a label, or a settled one, says, as an event keeps it."""
    names = SETTLED_FIELDS if isinstance(label, FinalLabel) else FIELDS
    return {name: getattr(label, name) for name in names} | {"made_at": label.made_at.isoformat()}


def is_of(event: LabelEvent, author: str) -> bool:
    """Whether an event happened to `author`'s label: to one of the turn's labels, and not to its settlement."""
    return event.action not in SETTLING and event.author == author


def record(
    db: orm.Session, turn_id: int, author: str, action: str, content: dict[str, Any], at: datetime | None = None
) -> None:
    """Add an event, without a commit."""
    values = {"turn_id": turn_id, "author": author, "action": action, "said": content}
    db.execute(sa.insert(LabelEvent).values(**values, happened_at=at or datetime.now(UTC)))


def of_turns(db: orm.Session, turn_ids: Iterable[int]) -> dict[int, list[LabelEvent]]:
    """The events of each turn, the newest first."""
    query = sa.select(LabelEvent).where(LabelEvent.turn_id.in_(list(turn_ids))).order_by(LabelEvent.id.desc())
    by_turn: dict[int, list[LabelEvent]] = {}
    for event in db.scalars(query):
        by_turn.setdefault(event.turn_id, []).append(event)
    return by_turn


def of_turn(db: orm.Session, turn_id: int) -> list[LabelEvent]:
    """The events of one turn, the newest first."""
    return of_turns(db, [turn_id]).get(turn_id, [])


def cause_before(db: orm.Session, label: Label | FinalLabel) -> str | None:
    """The cause that was renamed to the label's, if that is the last that happened to it."""
    of_label: sa.ColumnElement[bool] = LabelEvent.action.in_(SETTLING)
    if isinstance(label, Label):
        of_label = sa.and_(LabelEvent.author == label.author, ~of_label)
    query = sa.select(LabelEvent).where(LabelEvent.turn_id == label.turn_id, of_label)
    last = db.scalar(query.order_by(LabelEvent.id.desc()).limit(1))
    if last is None or last.action not in RENAMING or last.said.get("cause") != label.cause:
        return None
    return (last.said.get("was") or {}).get("cause")


def last_batch(db: orm.Session, author: str) -> list[LabelEvent]:
    """The events of the last that `author` did and did not undo, a save or a removal; none where there is no such."""
    undoable = LabelEvent.action.in_(("put", "removed", "undone"))
    query = sa.select(LabelEvent).where(LabelEvent.author == author, undoable).order_by(LabelEvent.id.desc())
    undone: set[str] = set()
    batch: str | None = None
    events: list[LabelEvent] = []
    with closing(db.scalars(query.execution_options(yield_per=500))) as newest_first:
        for event in newest_first:
            if "undoes" in event.said:
                undone.add(str(event.said["undoes"]))
            elif event.said.get("batch") not in undone:
                batch = batch or event.said.get("batch")
                if batch is None or event.said.get("batch") != batch:
                    break
                events.append(event)
    return events

"""History: what happened to each turn's labels, in order, so that nothing is overwritten without trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models import Label, LabelEvent

SETTLING = ("settled", "unsettled", "resettled")
"""what happens to the settled label of a response; resettled is a cause that was renamed"""
SAID = ("judgement", "cause", "expects", "expected", "note", "seconds")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. `said` is the label as it then was, with `was` (what it replaced) and `batch`
    (one for all that one save wrote); `like` names the response whose label was given to this one too."""

    turn_id: int
    author: str
    action: str
    said: dict[str, Any]
    happened_at: datetime

    def as_dict(self) -> dict[str, Any]:
        """As exports and `label list --json` write it."""
        at = self.happened_at.isoformat()
        return {"action": self.action, "author": self.author, "happened_at": at, "said": self.said}


def said(label: Any) -> dict[str, Any]:
    """What a label says, as an event keeps it."""
    return {name: getattr(label, name) for name in SAID} | {"made_at": label.made_at.isoformat()}


def settlement(settled: Any) -> dict[str, Any]:
    """What a settled label says, as an event keeps it."""
    names = ("judgement", "cause", "expects", "expected", "why")
    return {name: getattr(settled, name) for name in names} | {"made_at": settled.made_at.isoformat()}


def record(
    db: orm.Session, turn_id: int, author: str, action: str, what: dict[str, Any], at: datetime | None = None
) -> None:
    """Add an event, without a commit."""
    values = {"turn_id": turn_id, "author": author, "action": action, "said": what}
    db.execute(sa.insert(LabelEvent).values(**values, happened_at=at or datetime.now(UTC)))


def of_turns(db: orm.Session, turn_ids: Iterable[int]) -> dict[int, list[Event]]:
    """The events of each turn, the newest first."""
    found: dict[int, list[Event]] = {}
    for row in db.scalars(_of_turns, {"turns": list(turn_ids)}):
        event = Event(row.turn_id, row.author, row.action, row.said, row.happened_at)
        found.setdefault(row.turn_id, []).append(event)
    return found


_of_turns = (
    sa.select(LabelEvent)
    .where(LabelEvent.turn_id.in_(sa.bindparam("turns", expanding=True)))
    .order_by(LabelEvent.id.desc())
)


def of_turn(db: orm.Session, turn_id: int) -> list[Event]:
    """The events of one turn, the newest first."""
    return of_turns(db, [turn_id]).get(turn_id, [])


def cause_before(db: orm.Session, label: Label, cause: str) -> str | None:
    """The cause that was renamed to `cause` in this label, if that is the last that happened to it."""
    own = sa.and_(LabelEvent.author == label.author, LabelEvent.action.not_in(SETTLING))
    return _renamed(db, label.turn_id, own, "renamed", cause)


def settled_cause_before(db: orm.Session, turn_id: int, cause: str) -> str | None:
    """As `cause_before`, of the settled label of a turn."""
    return _renamed(db, turn_id, LabelEvent.action.in_(SETTLING), "resettled", cause)


def _renamed(db: orm.Session, turn_id: int, which: sa.ColumnElement[bool], action: str, cause: str) -> str | None:
    query = sa.select(LabelEvent.action, LabelEvent.said).where(LabelEvent.turn_id == turn_id, which)
    last = db.execute(query.order_by(LabelEvent.id.desc()).limit(1)).first()
    if last is None or last.action != action or last.said.get("cause") != cause:
        return None
    return (last.said.get("was") or {}).get("cause")


def last_batch(db: orm.Session, author: str, most: int = 500) -> list[LabelEvent]:
    """The events of the last save or removal by `author` that was not undone; none where there is no such."""
    own = sa.select(LabelEvent).where(LabelEvent.author == author, LabelEvent.action.in_(("put", "removed", "undone")))
    undone: set[str] = set()
    batch: str | None = None
    events: list[LabelEvent] = []
    for event in db.scalars(own.order_by(LabelEvent.id.desc()).limit(most)):
        if event.action == "undone":
            undone.add(str(event.said.get("undoes")))
        elif event.said.get("batch") not in undone:
            batch = batch or event.said.get("batch")
            if batch is None or event.said.get("batch") != batch:
                break
            events.append(event)
    return events

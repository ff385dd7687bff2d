"""Settling: which label of a response is final, where people disagree, and how that was settled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.exports.labelled import expected_values
from webapp.store import labels
from webapp.store.dialect import upsert
from webapp.store.labelling import causes, history
from webapp.store.labelling.history import Event
from webapp.store.labelling.values import same_as
from webapp.store.labels import Said
from webapp.store.models import FinalLabel, Label, Session, Turn

_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Final:
    """What holds for a response. `how` is settled, agreed or alone; `authors` are those whose label it is.

    `values` are the values that should come out, in order: [] where no JSON is meant, None where that is not known.
    """

    said: Said
    how: str
    authors: tuple[str, ...]
    made_at: datetime
    why: str | None = None

    @property
    def values(self) -> list[Any] | None:
        return expected_values(self.said)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A response with its labels, the oldest first; `final` is None where people disagree and nobody settled it."""

    turn: Turn
    session: Session
    labels: tuple[Label, ...]
    settled: FinalLabel | None
    final: Final | None
    history: tuple[Event, ...] = field(default=())

    def settlement(self) -> dict[str, Any] | None:
        """How a disagreement was settled, as exports say it; None where nobody settled one."""
        if self.settled is None:
            return None
        names = ("author", "judgement", "cause", "expects", "expected", "why")
        events = [event.as_dict() for event in reversed(self.history) if event.action in history.SETTLING]
        values = {name: getattr(self.settled, name) for name in names}
        return {**values, "made_at": self.settled.made_at.isoformat(), "history": events}


def final(db: orm.Session, turn: Turn) -> Final | None:
    """The settled label of `turn`, else the one that all gave (the same judgement and the same expected value), else
    the only one; None where people disagree, or nobody labelled it."""
    settled = db.get(FinalLabel, turn.id, populate_existing=True)
    query = sa.select(Label).where(Label.turn_id == turn.id).order_by(Label.made_at, Label.id)
    return decide(list(db.scalars(query)), settled)


def decide(given: Sequence[Label], settled: FinalLabel | None) -> Final | None:
    """`final`, of labels at hand, the oldest first."""
    if settled is not None:
        said = Said(settled.judgement, settled.cause, settled.why, settled.expects, settled.expected)
        return Final(said, "settled", (settled.author,), settled.made_at, settled.why)
    if not given or len({position(label) for label in given}) > 1:
        return None
    newest = given[-1]
    cause = next((label.cause for label in reversed(given) if label.cause), None)
    note = "\n".join(label.note for label in given if label.note) or None
    said = Said(newest.judgement, cause, note, newest.expects, newest.expected)
    how = "alone" if len(given) == 1 else "agreed"
    return Final(said, how, tuple(label.author for label in given), newest.made_at)


def position(label: Label) -> tuple[str, str]:
    """What must be the same for two people to agree."""
    values = expected_values(label)
    return label.judgement, (label.expects or "") if values is None else same_as(values)


def every(
    db: orm.Session, *, after: int = -1, with_history: bool = False, sessions: Sequence[int] | None = None
) -> Iterator[Labelled]:
    """Every labelled response in the order of turns, a few hundred at a time; of some sessions (their ids) if asked."""
    while True:
        ids = _next_ids(db, after, sessions)
        if not ids:
            return
        yield from of_turns(db, ids, with_history=with_history)
        after = ids[-1]


def finals(db: orm.Session, **options: Any) -> Iterator[Labelled]:
    """`every` labelled response that has a final label."""
    return (one for one in every(db, **options) if one.final is not None)


def of_turns(db: orm.Session, turn_ids: Sequence[int], *, with_history: bool = False) -> list[Labelled]:
    """These responses with their labels, in the order of turns."""
    given: dict[int, list[Label]] = {}
    for label in db.scalars(sa.select(Label).where(Label.turn_id.in_(turn_ids)).order_by(Label.made_at, Label.id)):
        given.setdefault(label.turn_id, []).append(label)
    settled = {one.turn_id: one for one in db.scalars(sa.select(FinalLabel).where(FinalLabel.turn_id.in_(turn_ids)))}
    events = history.of_turns(db, turn_ids) if with_history else {}
    joined = sa.select(Turn, Session).join(Session, Session.id == Turn.session_id)
    rows = db.execute(joined.where(Turn.id.in_(turn_ids), Session.deleted_at.is_(None)).order_by(Turn.id)).all()
    return [
        Labelled(
            *(turn, session, tuple(given.get(turn.id, ())), settled.get(turn.id)),
            decide(given.get(turn.id, ()), settled.get(turn.id)),
            tuple(events.get(turn.id, ())),
        )
        for turn, session in rows
    ]


def disagreements(
    db: orm.Session, *, after: int = -1, limit: int = 50, viewer: str | None = None, settled: bool = False
) -> list[Labelled]:
    """Responses that people judged differently, not settled yet (or `settled`), behind the turn `after`.

    Only those that `viewer` has labelled, where one is named: others' labels are not told before.
    """
    found: list[Labelled] = []
    while len(found) < limit:
        several = sa.select(Label.turn_id).where(Label.turn_id > after).group_by(Label.turn_id)
        if viewer is not None:
            several = several.having(sa.func.sum(sa.case((Label.author == viewer, 1), else_=0)) > 0)
        query = several.having(sa.func.count() > 1).order_by(Label.turn_id).limit(_AT_ONCE)
        ids = list(db.scalars(query))
        if not ids:
            break
        after = ids[-1]
        found += [one for one in of_turns(db, ids) if disagree(one.labels) and (one.settled is not None) is settled]
    return found[:limit]


def disagree(given: Sequence[Label]) -> bool:
    """Whether people said different things of one response."""
    return len({position(label) for label in given}) > 1


def settle(db: orm.Session, turn: Turn, said: Said, *, author: str, why: str | None, seen: str | None = None) -> None:
    """Make `said` the final label of `turn`, whoever labelled it, and commit. Raises `BadLabel`, and `Conflict` where
    it was settled otherwise since it was `seen`."""
    author = labels.checked_author(author)
    said = labels.checked(Said(said.judgement, said.cause, why, said.expects, said.expected))
    stored = db.get(FinalLabel, turn.id, populate_existing=True)
    if seen is not None and seen != stamp(stored):
        raise labels.Conflict(None)
    was = None if stored is None else history.settlement(stored)
    values = {"turn_id": turn.id, "author": author, "judgement": said.judgement, "expects": said.expects}
    values |= {"cause": causes.resolve(db, said.cause, author), "expected": said.expected, "why": said.note}
    values |= {"made_at": datetime.now(UTC)}
    db.execute(upsert(db.get_bind().dialect.name, FinalLabel, values, ("turn_id",)))
    now = db.get(FinalLabel, turn.id, populate_existing=True)
    history.record(db, turn.id, author, "settled", history.settlement(now) | {"was": was})
    labels._save(db, turn)


def unsettle(db: orm.Session, turn: Turn, *, author: str) -> bool:
    """Take the settlement of `turn` back and commit; False where there is none."""
    stored = db.get(FinalLabel, turn.id, populate_existing=True)
    if stored is None:
        return False
    history.record(
        db,
        turn.id,
        labels.checked_author(author),
        "unsettled",
        history.settlement(stored) | {"was": history.settlement(stored)},
    )
    db.delete(stored)
    labels._save(db, turn)
    return True


def stamp(settled: FinalLabel | None) -> str:
    """What tells one settlement from another; empty where there is none."""
    return "" if settled is None else settled.made_at.isoformat()


def _next_ids(db: orm.Session, after: int, sessions: Sequence[int] | None) -> list[int]:
    query = sa.select(Label.turn_id).where(Label.turn_id > after).distinct().order_by(Label.turn_id).limit(_AT_ONCE)
    if sessions is not None:
        query = query.join(Turn, Turn.id == Label.turn_id).where(Turn.session_id.in_(sessions))
    return list(db.scalars(query))

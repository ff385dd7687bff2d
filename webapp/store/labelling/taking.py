"""Taking from a queue: what comes next for a person, what lies behind, who got how far, and which are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.labelling.values import same_as
from webapp.store.labels import Said
from webapp.store.models import Label, LabelQueue, LabelQueueItem, Parse, Session, Turn
from webapp.store.parsed import OURS
from webapp.store.turns import PREVIEW, preview

MOST_ALIKE = 1_000
"""how many responses one label can serve"""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a queue is labelled: `people` by how many of its responses each has labelled; `seconds` is what the
    person took for one lately, the median; `scanned` counts sessions while the queue is still being gathered."""

    total: int
    done: int
    people: dict[str, int]
    seconds: float | None
    complete: bool
    scanned: int


@dataclass(frozen=True, slots=True)
class Alike:
    """A response near-identical to another, which the person has not labelled."""

    turn: Turn
    session: Session
    preview: str


_order = (LabelQueueItem.rank, LabelQueueItem.turn_id)


def following(db: orm.Session, queue: LabelQueue, author: str, turn_id: int | None = None) -> Turn | None:
    """The next response of the queue that `author` has not labelled, behind `turn_id`, else from the beginning.

    Those that were skipped so come again at the end.
    """
    open_ones = _items(queue).where(~_labelled(author)).order_by(*_order).limit(1)
    place = _place(db, queue, turn_id)
    found = db.scalar(open_ones.where(_behind(place))) if place is not None else None
    if found is None:
        others = open_ones if turn_id is None else open_ones.where(LabelQueueItem.turn_id != turn_id)
        found = db.scalar(others)
    return None if found is None else db.get(Turn, found)


def after(db: orm.Session, queue: LabelQueue, turn_id: int) -> Turn | None:
    """The response behind `turn_id`, labelled or not."""
    place = _place(db, queue, turn_id)
    found = db.scalar(_items(queue).where(_behind(place)).order_by(*_order).limit(1)) if place else None
    return None if found is None else db.get(Turn, found)


def before(db: orm.Session, queue: LabelQueue, turn_id: int) -> Turn | None:
    """The response before `turn_id`, labelled or not."""
    place = _place(db, queue, turn_id)
    if place is None:
        return None
    backwards = _items(queue).where(sa.tuple_(*_order) < _literals(place))
    found = db.scalar(backwards.order_by(*(column.desc() for column in _order)).limit(1))
    return None if found is None else db.get(Turn, found)


def progress(db: orm.Session, queue: LabelQueue, author: str) -> Progress:
    """See `Progress`."""
    total = db.scalar(sa.select(sa.func.count()).where(LabelQueueItem.queue_id == queue.id)) or 0
    by_author = (
        sa.select(Label.author, sa.func.count())
        .join(LabelQueueItem, LabelQueueItem.turn_id == Label.turn_id)
        .where(LabelQueueItem.queue_id == queue.id)
        .group_by(Label.author)
    )
    people = {row[0]: row[1] for row in db.execute(by_author)}
    times = sa.select(Label.seconds).where(Label.author == author, Label.seconds.is_not(None))
    lately = sorted(seconds or 0.0 for seconds in db.scalars(times.order_by(Label.made_at.desc()).limit(25)))
    median = lately[len(lately) // 2] if lately else None
    return Progress(total, people.get(author, 0), people, median, queue.complete, queue.state.get("sessions", 0))


def alike(db: orm.Session, queue: LabelQueue, turn: Turn, author: str) -> list[Alike]:
    """The queue's other responses like this one that `author` has not labelled."""
    mine = sa.select(LabelQueueItem.likeness).where(
        LabelQueueItem.queue_id == queue.id, LabelQueueItem.turn_id == turn.id
    )
    query = (
        sa.select(Turn, Session)
        .join(LabelQueueItem, LabelQueueItem.turn_id == Turn.id)
        .join(Session, Session.id == LabelQueueItem.session_id)
        .where(LabelQueueItem.queue_id == queue.id, LabelQueueItem.likeness == mine.scalar_subquery())
        .where(LabelQueueItem.turn_id != turn.id, Session.deleted_at.is_(None), ~_labelled(author))
    )
    rows = db.execute(query.order_by(*_order).limit(MOST_ALIKE))
    return [
        Alike(row.Turn, row.Session, preview((row.Turn.raw or "")[:PREVIEW].encode("utf-8", "surrogatepass")))
        for row in rows
    ]


def served(db: orm.Session, turn: Turn, said: Said, others: Sequence[Turn]) -> list[tuple[Turn, Said]]:
    """What one label says of the responses like its own.

    The judgement, the cause, and that no JSON or nothing certain is expected hold for all. An expected value holds
    where the text is the same; elsewhere, where it is what a profile reads here, what that profile reads there; and
    where it is neither, nothing is said of the expected value.
    """
    profile = _reader(db, turn, said)
    read = _values(db, [other.id for other in others], profile) if profile else {}
    return [(other, _for_other(turn, said, other, read.get(other.id))) for other in others]


def _for_other(turn: Turn, said: Said, other: Turn, values: list[Any] | None) -> Said:
    if not said.has_expected or other.raw_sha256 == turn.raw_sha256:
        return Said(said.judgement, said.cause, said.note, said.expects, said.expected)
    if values is None:
        return Said(said.judgement, said.cause, said.note)
    several = len(values) > 1
    return Said(
        said.judgement, said.cause, said.note, "several" if several else "one", values if several else values[0]
    )


def _reader(db: orm.Session, turn: Turn, said: Said) -> str | None:
    """A profile whose stored value is the expected one, `fencepost` first."""
    if not said.has_expected:
        return None
    wanted = same_as(said.expected if said.expects == "several" else [said.expected])
    parses = db.scalars(sa.select(Parse).where(Parse.turn_id == turn.id)).all()
    for parse in sorted(parses, key=lambda parse: (parse.profile != OURS, parse.profile)):
        if parse.trace["chosen"] and same_as(parse.trace["values"]) == wanted:
            return parse.profile
    return None


def _values(db: orm.Session, turn_ids: list[int], profile: str) -> dict[int, list[Any]]:
    query = sa.select(Parse.turn_id, Parse.trace).where(Parse.turn_id.in_(turn_ids), Parse.profile == profile)
    return {row.turn_id: row.trace["values"] for row in db.execute(query) if row.trace["chosen"]}


def _items(queue: LabelQueue) -> sa.Select[int]:
    return (
        sa.select(LabelQueueItem.turn_id)
        .join(Session, Session.id == LabelQueueItem.session_id)
        .where(LabelQueueItem.queue_id == queue.id, Session.deleted_at.is_(None))
    )


def _labelled(author: str) -> sa.ColumnElement[bool]:
    return sa.exists().where(Label.turn_id == LabelQueueItem.turn_id, Label.author == author)


def _place(db: orm.Session, queue: LabelQueue, turn_id: int | None) -> tuple[int, int] | None:
    here = sa.select(*_order).where(LabelQueueItem.queue_id == queue.id, LabelQueueItem.turn_id == turn_id)
    found = None if turn_id is None else db.execute(here).first()
    return None if found is None else (found[0], found[1])


def _behind(place: tuple[int, int]) -> sa.ColumnElement[bool]:
    behind: sa.ColumnElement[bool] = sa.tuple_(*_order) > _literals(place)
    return behind


def _literals(place: tuple[int, int]) -> Any:
    return sa.tuple_(*(sa.literal(number, sa.BigInteger()) for number in place))

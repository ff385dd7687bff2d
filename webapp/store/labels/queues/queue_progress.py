"""Taking from a queue: what comes next for a person, what lies behind, who got how far, and which are alike."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.labels.label_content import LabelContent
from webapp.store.labels.queues import queue as queues
from webapp.store.labels.queues.queue_spec import Spec
from webapp.store.labels.values import same_as
from webapp.store.models import Label, LabelQueue, LabelQueueItem, Parse, Session, Turn
from webapp.store.sessions.turns import PREVIEW, preview
from webapp.store.write.parser import OURS

MOST_ALIKE = 1_000
"""how many responses one label can serve"""


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """How far a queue is labelled: `people` by how many of its responses each has labelled; `seconds` is what the
    person took for one lately, the median; `scanned` counts sessions while the queue is still being gathered."""

    total: int
    labelled: int
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
    """The next response of the queue that `author` has not labelled, behind `turn_id`, else from the beginning: those
    that were skipped come again at the end."""
    unlabelled = _items(queue).where(~_labelled(author)).order_by(*_order)
    place = None if turn_id is None else _place(db, queue, turn_id)
    if place is not None and (turn := _first(db, unlabelled.where(sa.tuple_(*_order) > place))) is not None:
        return turn
    return _first(db, unlabelled.where(LabelQueueItem.turn_id != turn_id) if turn_id is not None else unlabelled)


def after(db: orm.Session, queue: LabelQueue, turn_id: int) -> Turn | None:
    """The response behind `turn_id`, labelled or not."""
    place = _place(db, queue, turn_id)
    return None if place is None else _first(db, _items(queue).where(sa.tuple_(*_order) > place).order_by(*_order))


def before(db: orm.Session, queue: LabelQueue, turn_id: int) -> Turn | None:
    """The response before `turn_id`, labelled or not."""
    place = _place(db, queue, turn_id)
    backwards = _items(queue).order_by(*(column.desc() for column in _order))
    return None if place is None else _first(db, backwards.where(sa.tuple_(*_order) < place))


def progress(db: orm.Session, queue: LabelQueue, author: str) -> QueueProgress:
    here = LabelQueueItem.queue_id == queue.id
    total = db.scalar(sa.select(sa.func.count()).where(here)) or 0
    by_author = sa.select(Label.author, sa.func.count()).join(LabelQueueItem, LabelQueueItem.turn_id == Label.turn_id)
    people = {row[0]: row[1] for row in db.execute(by_author.where(here).group_by(Label.author))}
    times = sa.select(Label.seconds).where(Label.author == author, Label.seconds.is_not(None))
    lately = sorted(seconds or 0.0 for seconds in db.scalars(times.order_by(Label.made_at.desc()).limit(25)))
    median = lately[len(lately) // 2] if lately else None
    scanned = queue.state.get("sessions", 0)
    return QueueProgress(total, people.get(author, 0), people, median, queue.complete, scanned)


def alike(db: orm.Session, queue: LabelQueue, turn: Turn, author: str) -> list[Alike]:
    """The queue's other responses like this one that `author` has not labelled."""
    here = LabelQueueItem.queue_id == queue.id
    mine = sa.select(LabelQueueItem.likeness).where(here, LabelQueueItem.turn_id == turn.id)
    query = (
        sa.select(Turn, Session)
        .join(LabelQueueItem, LabelQueueItem.turn_id == Turn.id)
        .join(Session, Session.id == LabelQueueItem.session_id)
        .where(here, LabelQueueItem.likeness == mine.scalar_subquery())
        .where(LabelQueueItem.turn_id != turn.id, Session.deleted_at.is_(None), ~_labelled(author))
    )
    return [
        Alike(turn, session, preview((turn.raw or "")[:PREVIEW].encode("utf-8", "surrogatepass")))
        for turn, session in db.execute(query.order_by(*_order).limit(MOST_ALIKE))
    ]


def served(
    db: orm.Session, turn: Turn, content: LabelContent, alike_turns: Sequence[Turn]
) -> list[tuple[Turn, LabelContent]]:
    """What one label says of the responses like its own.

    The judgement, the cause, and that no JSON or nothing certain is expected hold for all. An expected value holds
    where the text is the same; elsewhere, where it is what a profile reads here, what that profile reads there; and
    where it is neither, nothing is said of the expected value.
    """
    profile = _reader(db, turn, content)
    values = _values(db, [same.id for same in alike_turns], profile) if profile else {}
    return [(same, _for_other(turn, content, same, values.get(same.id))) for same in alike_turns]


def _for_other(turn: Turn, content: LabelContent, same: Turn, values: list[Any] | None) -> LabelContent:
    content = replace(content, seconds=None)
    if not content.has_expected or same.raw_sha256 == turn.raw_sha256:
        return content
    if values is None:
        return replace(content, expects=None, expected=None)
    is_one = len(values) == 1
    return replace(content, expects="one" if is_one else "several", expected=values[0] if is_one else values)


def _reader(db: orm.Session, turn: Turn, content: LabelContent) -> str | None:
    """A profile whose stored value is the expected one, `fencepost` first."""
    if not content.has_expected:
        return None
    expected = same_as(content.expected if content.expects == "several" else [content.expected])
    parses = db.scalars(sa.select(Parse).where(Parse.turn_id == turn.id)).all()
    for parse in sorted(parses, key=lambda parse: (parse.profile != OURS, parse.profile)):
        if parse.trace["chosen"] and same_as(parse.trace["values"]) == expected:
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


def _first(db: orm.Session, items: sa.Select[int]) -> Turn | None:
    turn_id = db.scalar(items.limit(1))
    return None if turn_id is None else db.get(Turn, turn_id)


def _place(db: orm.Session, queue: LabelQueue, turn_id: int) -> Any:
    """Where a response stands in the order, to compare others with; None where the queue does not have it."""
    here = sa.select(*_order).where(LabelQueueItem.queue_id == queue.id, LabelQueueItem.turn_id == turn_id)
    row = db.execute(here).first()
    return None if row is None else sa.tuple_(*(sa.literal(number, sa.BigInteger()) for number in row))


_SHADOWS = (
    "CREATE TEMP TABLE label_queue (id INTEGER PRIMARY KEY, spec UNIQUE, state, complete, made_at)",
    "INSERT INTO temp.label_queue SELECT id, spec, state, complete, made_at FROM main.label_queue WHERE id = :queue",
    "CREATE TEMP TABLE label_queue_item AS SELECT * FROM main.label_queue_item WHERE queue_id = :queue",
    "CREATE UNIQUE INDEX temp.shadow_key ON label_queue_item (queue_id, turn_id)",
    "CREATE INDEX temp.shadow_order ON label_queue_item (queue_id, rank, turn_id)",
    "CREATE INDEX temp.shadow_likeness ON label_queue_item (queue_id, likeness)",
)
"""SQLite finds temporary tables before others of their names: the queue is gathered into them by the same statements,
without the lock that those who write wait for, and they go with the transaction."""


def looked_at(db: orm.Session, spec: Spec, *, seconds: float = 0.25) -> LabelQueue:
    """The queue of `spec`, gone on with for at most about `seconds`; None of it is stored, and it is gone with the
    transaction, which must not be one that writes."""
    label_queue = queues.stored(db, spec)
    if label_queue is not None and queues.is_current(db, label_queue, spec):
        return label_queue
    if db.get_bind().dialect.name == "sqlite":
        _shadow(db, None if label_queue is None else label_queue.id)
    if label_queue is None:
        label_queue = LabelQueue(spec=spec.name, state=queues.beginning(db), complete=False, made_at=datetime.now(UTC))
        db.add(label_queue)
        db.flush()
    until = time.monotonic() + seconds
    while queues.go_on(db, label_queue, spec) and time.monotonic() < until:
        pass
    db.flush()
    return label_queue


def turn_ids(db: orm.Session, spec: Spec) -> sa.Select[int]:
    """The turns of the whole queue, as a query to run in this transaction."""
    queue = looked_at(db, spec, seconds=float("inf"))
    return sa.select(LabelQueueItem.turn_id).where(LabelQueueItem.queue_id == queue.id)


def _shadow(db: orm.Session, number: int | None) -> None:
    """Temporary tables for this transaction, with what is stored of the queue `number`."""
    db.rollback()
    connection = db.connection()
    connection.exec_driver_sql("BEGIN")
    for statement in _SHADOWS:
        connection.exec_driver_sql(statement, {"queue": number})

"""Queues for teams: responses that each get so many labels, that nobody else has before them, assigned to people."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.dialect import insert_new, upsert
from webapp.store.labels import history
from webapp.store.labels.label_content import checked_author
from webapp.store.models import Assignment, Label, LabelHold, LabelQueue, LabelQueueItem, Turn

HELD = timedelta(minutes=10)
"""how long a response is held for who looks at it"""
_AT_ONCE = 500


def hold(db: orm.Session, queue: LabelQueue, author: str, turn_id: int) -> None:
    """Hold the response that `author` has before them, in place of the one before, and commit."""
    values = {"queue_id": queue.id, "author": author, "turn_id": turn_id, "until": datetime.now(UTC) + HELD}
    db.execute(upsert(db.get_bind().dialect.name, LabelHold, values, ("queue_id", "author")))
    db.commit()


def wanted(queue: LabelQueue, author: str, each: int) -> sa.ColumnElement[bool]:
    """Which items `author` is asked for: assigned to them or to nobody, lacking labels while others hold them, and
    with no label that `author` reviewed: theirs would not be independent of it."""
    reviewed = sa.exists().where(Label.turn_id == LabelQueueItem.turn_id, Label.reviewer == author)
    mine = sa.and_(sa.or_(assigned_to(author), ~_assigned), ~reviewed)
    if not each:
        return mine
    labels = sa.select(sa.func.count()).where(Label.turn_id == LabelQueueItem.turn_id).scalar_subquery()
    held = sa.select(sa.func.count()).where(
        LabelHold.queue_id == queue.id,
        LabelHold.turn_id == LabelQueueItem.turn_id,
        LabelHold.author != author,
        LabelHold.until > datetime.now(UTC),
        ~sa.exists().where(Label.turn_id == LabelHold.turn_id, Label.author == LabelHold.author),
    )
    return sa.and_(mine, labels + held.scalar_subquery() < each)


_assigned = sa.exists().where(Assignment.turn_id == LabelQueueItem.turn_id)


def assigned_to(author: str) -> sa.ColumnElement[bool]:
    """Which items of queues are assigned to `author`."""
    return sa.exists().where(Assignment.turn_id == LabelQueueItem.turn_id, Assignment.assignee == author)


def assign(db: orm.Session, queue: LabelQueue, people: Sequence[str], *, author: str, each: int = 0) -> int:
    """Assign the queue's responses to `people`, one after the other, in place of whoever had them, and commit.

    Each goes to `each` of them, at least to one; responses that are alike go to the same; no people: to nobody.
    Returns how many responses changed hands; `labels.undo` gives them back. Raises `BadLabel` for a name.
    """
    author, names = checked_author(author), list(dict.fromkeys(checked_author(name) for name in people))
    order = (LabelQueueItem.rank, LabelQueueItem.turn_id)
    query = sa.select(LabelQueueItem.turn_id, LabelQueueItem.likeness).where(LabelQueueItem.queue_id == queue.id)
    likenesses: dict[bytes, int] = {}
    to: dict[int, list[str]] = {}
    for row in db.execute(query.join(Turn, Turn.id == LabelQueueItem.turn_id).order_by(*order)):
        number = likenesses.setdefault(bytes(row.likeness), len(likenesses))
        many = min(max(each, 1), len(names))
        to[row.turn_id] = sorted(names[(number * many + at) % len(names)] for at in range(many))
    had = _of_queue(db, queue)
    was = {turn_id: sorted(had.get(turn_id, ())) for turn_id in to}
    changed = [turn_id for turn_id in to if to[turn_id] != was[turn_id]]
    batch = str(uuid.uuid4())
    for at in range(0, len(changed), _AT_ONCE):
        here = changed[at : at + _AT_ONCE]
        restore(db, {turn_id: to[turn_id] for turn_id in here}, author)
        said = {turn_id: {"to": to[turn_id], "was": was[turn_id], "batch": batch} for turn_id in here}
        history.record_all(db, said, author, history.ASSIGNED)
    db.commit()
    return len(changed)


def _of_queue(db: orm.Session, queue: LabelQueue) -> dict[int, list[str]]:
    query = sa.select(Assignment.turn_id, Assignment.assignee)
    query = query.join(LabelQueueItem, LabelQueueItem.turn_id == Assignment.turn_id)
    names: dict[int, list[str]] = {}
    for turn_id, assignee in db.execute(query.where(LabelQueueItem.queue_id == queue.id)):
        names.setdefault(turn_id, []).append(assignee)
    return names


def restore(db: orm.Session, to: Mapping[int, Sequence[str]], author: str) -> None:
    """Assign a few hundred responses each to its names and nobody else, without a commit and without an event."""
    db.execute(sa.delete(Assignment).where(Assignment.turn_id.in_(to)))
    about = {"author": author, "made_at": datetime.now(UTC)}
    rows = [{"turn_id": turn_id, "assignee": name, **about} for turn_id, names in to.items() for name in names]
    if rows:
        db.execute(insert_new(db.get_bind().dialect.name, Assignment, rows, ("turn_id", "assignee")))


def of_turn(db: orm.Session, turn_id: int) -> list[Assignment]:
    """To whom a response is assigned."""
    return list(db.scalars(sa.select(Assignment).where(Assignment.turn_id == turn_id).order_by(Assignment.assignee)))


def parts(db: orm.Session, queue: LabelQueue) -> dict[str, tuple[int, int]]:
    """By person: how many of the queue's responses are assigned to them, and how many of those they have labelled; a
    label that was returned to them does not count."""
    done = sa.exists().where(
        Label.turn_id == Assignment.turn_id,
        Label.author == Assignment.assignee,
        Label.review.is_distinct_from("returned"),
    )
    query = sa.select(Assignment.assignee, sa.func.count(), sa.func.sum(sa.case((done, 1), else_=0)))
    query = query.join(LabelQueueItem, LabelQueueItem.turn_id == Assignment.turn_id)
    query = query.where(LabelQueueItem.queue_id == queue.id)
    rows = db.execute(query.group_by(Assignment.assignee).order_by(Assignment.assignee))
    return {row[0]: (row[1], row[2]) for row in rows}

"""Queues for teams: responses that each get so many labels, that others do not have before them, split among people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.dialect import upsert
from webapp.store.labels.label_content import checked_author
from webapp.store.models import Label, LabelHold, LabelQueue, LabelQueueItem

HELD = timedelta(minutes=10)
"""how long a response is held for who looks at it"""


def hold(db: orm.Session, queue: LabelQueue, author: str, turn_id: int) -> None:
    """Hold the response that `author` has before them, in place of the one before, and commit."""
    values = {"queue_id": queue.id, "author": author, "turn_id": turn_id, "until": datetime.now(UTC) + HELD}
    db.execute(upsert(db.get_bind().dialect.name, LabelHold, values, ("queue_id", "author")))
    db.commit()


def wanted(queue: LabelQueue, author: str, each: int) -> sa.ColumnElement[bool]:
    """Which items `author` is asked for: their own part or nobody's, that lack labels while others hold them."""
    mine = sa.or_(LabelQueueItem.assignee.is_(None), LabelQueueItem.assignee == author)
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


def split(db: orm.Session, queue: LabelQueue, people: Sequence[str]) -> int:
    """Split the queue's responses among `people`, one after the other, and commit; no people: everybody's again.

    Responses that are alike go to the same person. Returns how many were split. Raises `BadLabel` for a name.
    """
    names = list(dict.fromkeys(checked_author(name) for name in people))
    of_queue = LabelQueueItem.queue_id == queue.id
    if not names:
        db.execute(sa.update(LabelQueueItem).where(of_queue).values(assignee=None))
        db.commit()
        return 0
    order = (LabelQueueItem.rank, LabelQueueItem.turn_id)
    rows = db.execute(sa.select(LabelQueueItem.turn_id, LabelQueueItem.likeness).where(of_queue).order_by(*order)).all()
    likenesses: dict[bytes, int] = {}
    parts: dict[str, list[int]] = {name: [] for name in names}
    for row in rows:
        number = likenesses.setdefault(bytes(row.likeness), len(likenesses))
        parts[names[number % len(names)]].append(row.turn_id)
    for name, turns in parts.items():
        for first in range(0, len(turns), 500):
            here = LabelQueueItem.turn_id.in_(turns[first : first + 500])
            db.execute(sa.update(LabelQueueItem).where(of_queue, here).values(assignee=name))
    db.commit()
    return len(rows)


def parts(db: orm.Session, queue: LabelQueue) -> dict[str, int]:
    """How many responses of the queue are each person's part."""
    query = sa.select(LabelQueueItem.assignee, sa.func.count()).where(
        LabelQueueItem.queue_id == queue.id, LabelQueueItem.assignee.is_not(None)
    )
    return {row[0]: row[1] for row in db.execute(query.group_by(LabelQueueItem.assignee)) if row[0] is not None}

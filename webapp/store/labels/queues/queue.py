"""Queues: responses to label in one order, gathered a stretch of sessions at a time and kept, so that no request
goes through all that is stored."""

from __future__ import annotations

import random
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.dialect import clock, insert_new
from webapp.store.labels.queues import group_queues
from webapp.store.labels.queues.queue_spec import Spec
from webapp.store.labels.queues.scanning import QueueEntry, of_turns, scan
from webapp.store.models import LabelQueue, LabelQueueItem, Session, Turn, is_response, turns_of
from webapp.store.sessions import order, sessions
from webapp.store.sessions.example_sessions import listed
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.where import View

MOST_OF_A_KIND = 20
"""queues that are kept; of more, the oldest is forgotten, its labels stay"""
_TURNS_AT_ONCE = {"disagree": 60, "silent": 200}
_LATE = 10_000_000
"""microseconds between a change and its commit, up to which it is not missed"""


def stored(db: orm.Session, spec: Spec) -> LabelQueue | None:
    return db.scalar(sa.select(LabelQueue).where(LabelQueue.spec == spec.name))


def opened(db: orm.Session, spec: Spec) -> LabelQueue:
    """The stored queue of `spec`; made where it is asked for the first time, and committed."""
    if (queue := stored(db, spec)) is not None:
        return queue
    values = {"spec": spec.name, "state": beginning(db), "complete": False, "made_at": datetime.now(UTC)}
    _forget_oldest(db, spec)
    db.execute(insert_new(LabelQueue, values, ("spec",)))
    db.commit()
    return db.scalars(sa.select(LabelQueue).where(LabelQueue.spec == spec.name)).one()


def beginning(db: orm.Session) -> dict[str, Any]:
    """The state of a queue of which nothing is gathered yet."""
    return {"at": None, "turn": -1, "until": clock(), "sessions": 0}


def _forget_oldest(db: orm.Session, spec: Spec) -> None:
    """Make room for a queue of this kind: every seed makes another, and whoever opens a link may give one."""
    alike = sa.select(LabelQueue.id).where(LabelQueue.spec.startswith(f"queue={spec.kind}&"))
    surplus = alike.order_by(LabelQueue.id.desc()).offset(MOST_OF_A_KIND - 1)
    db.execute(sa.delete(LabelQueue).where(LabelQueue.id.in_(surplus)))


def extend(db: orm.Session, queue: LabelQueue, spec: Spec, *, seconds: float = 0.25) -> bool:
    """Go through further sessions for at most about `seconds`, or through those that changed; True when all are seen.

    A database that is busy with a large dump is left alone; the next request tries again.
    """
    until = time.monotonic() + seconds
    try:
        more = True
        while more:
            with brief(db):
                more = go_on(db, queue, spec) and time.monotonic() < until
            db.commit()
    except sa.exc.OperationalError:
        db.rollback()
    return queue.complete


def go_on(db: orm.Session, queue: LabelQueue, spec: Spec) -> bool:
    """Go through a few more sessions, or through those that changed; whether there may be more. Commits nothing."""
    if not queue.complete:
        _step(db, queue, spec)
        return not queue.complete
    return _take_changed(db, queue, spec)


def is_current(db: orm.Session, queue: LabelQueue, spec: Spec) -> bool:
    """Whether all sessions were gone through as they are now. A sample stays what it was, so that its rates stay
    honest."""
    if spec.kind in group_queues.KINDS:
        return queue.complete and queue.state.get("groups") == group_queues.signature(db, spec)
    return queue.complete and (spec.kind == "sample" or _newest(db) <= queue.state.get("until", 0))


def _newest(db: orm.Session) -> int:
    return db.scalar(sa.select(sa.func.max(Session.changed))) or 0


@contextmanager
def brief(db: orm.Session) -> Iterator[None]:
    """Wait for SQLite's write lock for a moment only: who looks at a page does not wait for an ingest."""
    if db.get_bind().dialect.name != "sqlite":
        yield
        return
    raw: Any = db.connection().connection.dbapi_connection
    raw.execute("PRAGMA busy_timeout=200")
    try:
        yield
    finally:
        raw.execute("PRAGMA busy_timeout=30000")


def _step(db: orm.Session, queue: LabelQueue, spec: Spec) -> None:
    if spec.kind == "sample":
        _insert(db, queue, of_turns(db, _sample(db, spec)))
        queue.complete = True
    elif spec.kind in group_queues.KINDS:
        db.execute(sa.delete(LabelQueueItem).where(LabelQueueItem.queue_id == queue.id))
        _insert(db, queue, group_queues.gathered(db, spec))
        queue.state = queue.state | {"groups": group_queues.signature(db, spec)}
        queue.complete = True
    else:
        _step_sessions(db, queue, spec)


def _step_sessions(db: orm.Session, queue: LabelQueue, spec: Spec) -> None:
    """The next few hundred of the turns of the sessions that the spec leaves."""
    state = dict(queue.state)
    ids, following = _LISTED.get(spec.kind, _stretch)(db, spec, state)
    only_failed = spec.kind == "view" and spec.filters().failed
    most = _TURNS_AT_ONCE.get(spec.kind, 500)
    items, rest = scan(db, spec.kind, ids, state["turn"], most, only_failed=only_failed) if ids else ([], None)
    _insert(db, queue, items)
    if rest is not None:
        queue.state = state | {"turn": rest}
        return
    queue.state = state | {"turn": -1, "at": following, "sessions": state["sessions"] + len(ids)}
    queue.complete = following is None


def _stretch(db: orm.Session, spec: Spec, state: dict[str, Any]) -> tuple[list[int], Any]:
    """The next sessions, failed ones first, then the newest; as many as hold a few hundred turns."""
    rows = sessions.in_order(db, View(Filters()), "failing", state["at"], 100, Session.response_count)
    if spec.kind == "failed":
        rows = [row for row in rows if row.failed]
    if not rows:
        return [], None
    most = _TURNS_AT_ONCE.get(spec.kind, 500)
    count = max(1, sum(total <= most for total in accumulate(row.response_count for row in rows)))
    return [row.id for row in rows[:count]], order.values_of("failing", rows[count - 1])


def _viewed(db: orm.Session, spec: Spec, state: dict[str, Any]) -> tuple[list[int], Any]:
    hits = sessions.hits(db, spec.filters(), state["at"], 50)
    return hits.ids, hits.next


def _chosen(db: orm.Session, spec: Spec, state: dict[str, Any]) -> tuple[list[int], Any]:
    first = state["at"] or 0
    following = first + 10
    return _ids(db, spec.ids[first:following]), following if following < len(spec.ids) else None


def _ids(db: orm.Session, keys: Sequence[str]) -> list[int]:
    return list(db.scalars(sa.select(Session.id).where(Session.key.in_(keys))))


_LISTED = {"view": _viewed, "chosen": _chosen}


def _take_changed(db: orm.Session, queue: LabelQueue, spec: Spec) -> bool:
    """Go through sessions that were written since; whether there may be more."""
    if is_current(db, queue, spec):
        return False
    if spec.kind in group_queues.KINDS:
        queue.complete = False
        return True
    newest, state = _newest(db), queue.state
    since = state.get("until", 0) - (0 if state.get("goes_on") else _LATE)
    changed = Session.changed > since
    if spec.kind in _LISTED:
        written = sa.select(Session.id).where(changed)
        here = sa.and_(LabelQueueItem.queue_id == queue.id, LabelQueueItem.session_id.in_(written))
        db.execute(sa.delete(LabelQueueItem).where(here))
        queue.state = state | {"at": None, "turn": -1, "until": newest}
        queue.complete = False
        return True
    hundredth = sa.select(Session.changed).where(changed).order_by(Session.changed).offset(99).limit(1)
    last = db.scalar(hundredth) or newest
    _again(db, queue, spec, db.scalars(sa.select(Session.id).where(changed, Session.changed <= last)).all())
    queue.state = state | {"until": last, "goes_on": last < newest}
    return last < newest


def _again(db: orm.Session, queue: LabelQueue, spec: Spec, ids: Sequence[int]) -> None:
    for session_id in ids:
        here = turns_of(LabelQueueItem.turn_id, session_id)
        db.execute(sa.delete(LabelQueueItem).where(LabelQueueItem.queue_id == queue.id, here))
        after: int | None = -1
        while after is not None:
            items, after = scan(db, spec.kind, [session_id], after, 500)
            _insert(db, queue, items)


def _insert(db: orm.Session, queue: LabelQueue, items: list[QueueEntry]) -> None:
    rows = [asdict(item) | {"queue_id": queue.id} for item in items]
    if rows:
        db.execute(insert_new(LabelQueueItem, rows, ("queue_id", "turn_id")))


def _sample(db: orm.Session, spec: Spec) -> list[int]:
    """Turns drawn at random, each response as likely as any other.

    Positions are drawn from all turns and kept where a model wrote: the same data and seed give the same sample.
    """
    sessions_listed = sa.select(Session.id, Session.turn_count).where(listed, Session.response_count > 0)
    rows = db.execute(sessions_listed.order_by(Session.key)).all()
    ends = list(accumulate(row.turn_count for row in rows))
    total = db.scalar(sa.select(sa.func.sum(Session.response_count)).where(listed)) or 0
    chance = random.Random(spec.seed)  # noqa: S311 a sample to be drawn again, no secret
    if spec.size * 2 >= total:
        joined = _places.join(Session, Session.id == Turn.session_id).where(listed)
        every = list(db.scalars(joined.order_by(Session.key, Turn.position)))
        chance.shuffle(every)
        return every[: spec.size]
    sample: dict[int, None] = {}
    while len(sample) < spec.size:
        places = []
        for _ in range(200):
            at = chance.randrange(ends[-1])
            index = bisect_right(ends, at)
            places.append((rows[index].id, at - (ends[index - 1] if index else 0)))
        sample |= dict.fromkeys(_responses(db, places))
    return list(sample)[: spec.size]


def _responses(db: orm.Session, places: list[tuple[int, int]]) -> list[int]:
    """The responses at these (session, position), in that order."""
    query = _places.where(sa.tuple_(Turn.session_id, Turn.position).in_(places))
    by_place = {(row.session_id, row.position): row.id for row in db.execute(query)}
    return [by_place[place] for place in places if place in by_place]


_places = sa.select(Turn.id, Turn.session_id, Turn.position).where(is_response)

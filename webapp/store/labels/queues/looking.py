"""A queue for who only looks: gathered as far as it would be, and nothing of it stored.

All of it happens in the session's transaction, which whoever asks ends with a rollback, as the end of a request does.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.labels.queues import queue as queues
from webapp.store.labels.queues.queue_spec import Spec
from webapp.store.models import LabelQueue, LabelQueueItem

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

"""Who works at a task: whoever holds its lock, which goes with the process. What is running and not locked was left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store import tasks
from webapp.store.db import database
from webapp.store.ingest import dump_locks
from webapp.store.models import Task
from webapp.store.tasks import KINDS, LIVE, TaskLine


def alone(engine: sa.Engine, settings: Settings, number: int) -> AbstractContextManager[bool]:
    """Hold the lock of a task without waiting; False where another process or thread works at it."""
    return dump_locks.alone(engine, settings, f"task-{number}")


@contextmanager
def done_here(engine: sa.Engine, settings: Settings, kind: str, about: Mapping[str, Any]) -> Iterator[TaskLine]:
    """A task of this command's own, begun and locked before anybody can see it.

    Where the command is interrupted, it is; where it is killed, the next worker begins it again.
    """
    with ExitStack() as lock:
        with database.writing(engine) as connection:
            values = {"state": "running", "began_at": datetime.now(UTC)}
            number = tasks.insert(connection, kind, about, **values)
            lock.enter_context(alone(engine, settings, number))
            task = tasks.find(connection, number)
        try:
            yield task
        finally:
            tasks.end(engine, number, "interrupted", None)  # does nothing where it has ended


def free(engine: sa.Engine, settings: Settings, *kinds: str) -> Iterator[int]:
    """The tasks of these kinds, or of all, that nobody works at, in the order in which they are to be done."""
    order = sa.case({kind: place for place, kind in enumerate(KINDS)}, value=Task.kind)
    query = sa.select(Task.id, Task.state).where(Task.state.in_(LIVE)).order_by(order, Task.id)
    with engine.connect() as connection:
        rows = connection.execute(query.where(Task.kind.in_(kinds)) if kinds else query).all()
    for row in rows:
        if row.state == "queued" or _is_left(engine, settings, row.id):
            yield row.id


def _is_left(engine: sa.Engine, settings: Settings, number: int) -> bool:
    with alone(engine, settings, number) as is_left:
        return is_left

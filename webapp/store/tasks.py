"""Tasks: what goes on behind a request or by a command, each a row: what it is about, how far it is, how it ended.

A task is idempotent: who begins one that a killed worker left does what is still lacking. Whoever works at one holds
its lock (`hold`), which goes with the process: what is running and not locked was left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.refusals import NotThere
from webapp.store import files
from webapp.store.db import database, locks
from webapp.store.models import Task
from webapp.store.models.dumps import LIVE as LIVE

IMPORT, HOMES, REPLAY, EXPORT, PRUNE = "import", "homes", "replay", "export", "prune"
KINDS = (IMPORT, HOMES, REPLAY, EXPORT, PRUNE)
"""in the order in which they are done: who waits for an upload waits for nothing else"""
HELD = "held"
"""An import that waits for somebody to say what names its sessions."""
MOST_TRIES = 3
"""How many workers may die over a task before it is given up."""
MOST_SHOWN = 500


class NoSuchTask(NotThere):
    """No task has that number."""


class TaskFailed(RuntimeError):
    """A task cannot be done; `error` is what its result says: code, message (what to do), at."""

    def __init__(self, code: str | None, message: str | None, at: str | None = None) -> None:
        super().__init__(message)
        self.error: dict[str, str | None] = {"code": code, "message": message, "at": at}


def make(engine: sa.Engine, kind: str, about: Mapping[str, Any], **values: Any) -> int:
    """A task that waits, or with other values of its columns; its number."""
    with files.full_disk_in_words(), database.writing(engine) as connection:
        return insert(connection, kind, about, **values)


def insert(connection: sa.Connection, kind: str, about: Mapping[str, Any], **values: Any) -> int:
    row = {"kind": kind, "about": dict(about), "state": "queued", "tries": 0, "made_at": datetime.now(UTC), **values}
    return connection.scalars(sa.insert(Task).values(row).returning(Task.id)).one()


def begin(engine: sa.Engine, number: int) -> Task | None:
    """Note that a task is worked at; None where it has ended. Only who holds its lock may."""
    live = sa.and_(Task.id == number, Task.state.in_(LIVE))
    values = {
        "state": "running",
        "tries": Task.tries + sa.case((Task.state == "running", 1), else_=0),
        "began_at": sa.func.coalesce(Task.began_at, datetime.now(UTC)),
    }
    with database.writing(engine) as connection:
        if not connection.execute(sa.update(Task).where(live).values(values)).rowcount:
            return None
        return find(connection, number)


def note(connection: sa.Connection, number: int, progress: Mapping[str, Any], **values: Any) -> bool:
    """Note how far a task is, and other columns; False where it has ended meanwhile: somebody cancelled it.

    Nobody else ends it before the transaction does.
    """
    running = sa.and_(Task.id == number, Task.state == "running")
    return bool(connection.execute(sa.update(Task).where(running).values(progress=dict(progress), **values)).rowcount)


def put_back(engine: sa.Engine, number: int) -> None:
    """Leave a running task to the next worker."""
    with database.writing(engine) as connection:
        running = sa.and_(Task.id == number, Task.state == "running")
        connection.execute(sa.update(Task).where(running).values(state="queued"))


def end(engine: sa.Engine, number: int, state: str, result: Mapping[str, Any] | None, **values: Any) -> bool:
    """Note how a task ended; False where it has ended before."""
    with database.writing(engine) as connection:
        return _end(connection, number, LIVE, state, result, **values)


_CANCELLED = {
    IMPORT: "Cancelled. What was read by then is stored, a long session maybe in part; read it again to go on.",
    HOMES: "Cancelled. Sessions that were changed by then stay so; undo the change to give them back what they had.",
    REPLAY: "Cancelled. What was parsed by then stays, counted.",
    EXPORT: "Cancelled. Nothing of it was kept.",
}


def cancelled(kind: str) -> dict[str, str | None]:
    """The error of what somebody had end early: code, message, at."""
    return {"code": "cancelled", "message": _CANCELLED[kind], "at": None}


def cancel(engine: sa.Engine, number: int) -> bool:
    """End a task that waits or goes on; whoever works at it stops soon. False where it has ended before."""
    with database.writing(engine) as connection:
        task = find(connection, number)
        error = cancelled(task.kind)
        if task.kind == IMPORT and task.state != "running":
            error["message"] = "Cancelled before it was read: nothing was stored."
        return _end(connection, number, (*LIVE, HELD), "cancelled", {"error": error})


def _end(
    connection: sa.Connection,
    number: int,
    states: tuple[str, ...],
    state: str,
    result: Mapping[str, Any] | None,
    **values: Any,
) -> bool:
    here = sa.and_(Task.id == number, Task.state.in_(states))
    values |= {"state": state, "result": None if result is None else dict(result), "ended_at": datetime.now(UTC)}
    return bool(connection.execute(sa.update(Task).where(here).values(values)).rowcount)


def find(connection: sa.Connection, number: int, kind: str | None = None) -> Task:
    """The task, of that kind where one is given; raises `NoSuchTask`."""
    row = connection.execute(_lines.where(Task.id == number)).first()
    if row is None or kind not in (None, row.kind):
        called = "change of parsers" if kind == HOMES else kind or "task"
        raise NoSuchTask(f"no {called} has the number {number}")
    return line_of(row)


def page(
    connection: sa.Connection, *kinds: str, after: int | None = None, limit: int = 50, live: bool = False
) -> list[Task]:
    """Tasks of these kinds, or of all, the newest first, those behind the number `after`; with `live` those alone."""
    query = _lines.order_by(Task.id.desc()).limit(limit)
    query = query.where(Task.kind.in_(kinds)) if kinds else query
    query = query.where(Task.id < after) if after is not None else query
    query = query.where(Task.state.in_(LIVE)) if live else query
    return [line_of(row) for row in connection.execute(query)]


_lines = sa.select(Task.__table__)


def line_of(row: sa.Row[Any]) -> Task:
    values = dict(row._mapping)
    values["progress"] = values["progress"] or {}
    return Task(**values)


def hold(engine: sa.Engine, settings: Settings, number: int) -> AbstractContextManager[bool]:
    """Hold the lock of a task without waiting; False where another process or thread works at it."""
    return locks.hold(engine, settings.data, f"task-{number}")


@contextmanager
def done_here(engine: sa.Engine, settings: Settings, kind: str, about: Mapping[str, Any]) -> Iterator[Task]:
    """A task of this command's own, begun and locked before anybody can see it.

    Where the command is interrupted, it is; where it is killed, the next worker begins it again.
    """
    with ExitStack() as lock:
        with database.writing(engine) as connection:
            values = {"state": "running", "began_at": datetime.now(UTC)}
            number = insert(connection, kind, about, **values)
            lock.enter_context(hold(engine, settings, number))
            task = find(connection, number)
        try:
            yield task
        finally:
            end(engine, number, "interrupted", None)  # does nothing where it has ended


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
    with hold(engine, settings, number) as is_left:
        return is_left

"""Exports behind a request: asked for, listed, opened, and removed when their time is over.

The `about` of an export is `{"keys": [...]}`, those sessions, or `{"filters": {...}}`, those that the list shows under
them when the worker begins. Its `progress` has `phase`, `read` (bytes that are written), `sessions` that are in it and
`chosen`, how many there are to be. Its `result` has `sha256`, `bytes`, `sessions`, `written_at`, `expires_at`, and
for what was `deleted` or `changed` meanwhile `{"count", "sessions": [{"key", "id"}]}`, the first ones; or `error`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, BinaryIO

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store import tasks
from webapp.store.db.database import writing
from webapp.store.files import file_store
from webapp.store.models import Task
from webapp.store.sessions.filters import Filters
from webapp.store.tasks import EXPORT, TaskLine

FOLDER = "exports"
REMOVED = "removed"
"""what an export is whose file was removed, by its time or by somebody"""
UNCLAIMED = 24 * 3600.0
"""seconds after which a file that no export names was left by a killed worker"""
_AGAIN = "Export the sessions again."
_done = sa.and_(Task.kind == EXPORT, Task.state == "done")


class NotReady(RuntimeError):
    """The export has no file yet, or never will; the message says why."""


class ExportRemoved(RuntimeError):
    """The export's file was removed; the message says when."""


def of_keys(keys: list[str]) -> dict[str, Any]:
    """The selection of these sessions."""
    return {"keys": keys}


def of_filters(filters: Filters) -> dict[str, Any]:
    """The selection of the list under these filters."""
    return {"filters": filters.active()}


def cancel(engine: sa.Engine, number: int) -> None:
    """End an export that waits or is being written."""
    with writing(engine) as connection:
        tasks.cancel(connection, number, "Cancelled. Nothing of it was kept.")


def name_of(sha256: str) -> str:
    """What the file of an export is called in its store."""
    return f"{FOLDER}/{sha256}.zip"


def opened(settings: Settings, task: TaskLine) -> BinaryIO:
    """The file of an export, from its beginning. Raises `NotReady`, `ExportRemoved`, `StoreUnreachable`."""
    if task.state == REMOVED:
        raise ExportRemoved(f"The file of export {task.id} was removed. {_AGAIN}")
    if task.state != "done" or task.result is None:
        words = "is not written yet" if task.live else f"has no file: it is {task.state}"
        raise NotReady(f"Export {task.id} {words}.")
    store = file_store(settings)
    try:
        return store.open(name_of(task.result["sha256"]))
    except FileNotFoundError:
        words = f"is not in {store.place}: it was removed, or is on another machine"
        raise ExportRemoved(f"The file of export {task.id} {words}. {_AGAIN}") from None


def remove(engine: sa.Engine, settings: Settings, task: TaskLine) -> bool:
    """Remove the file of an export that is done; False where it is not, or was removed already."""
    with writing(engine) as connection:
        if not connection.execute(sa.update(Task).where(_done, Task.id == task.id).values(state=REMOVED)).rowcount:
            return False
        name = name_of((task.result or {})["sha256"])
        is_shared = name in _names(connection)
    if not is_shared:
        file_store(settings).remove(name)
    return True


def purge(engine: sa.Engine, settings: Settings) -> int:
    """Remove the files of exports whose time is over, and those that killed workers left; how many exports went."""
    now, removed_count = datetime.now(UTC), 0
    with engine.connect() as connection:
        exports = [tasks.line_of(row) for row in connection.execute(sa.select(Task.__table__).where(_done))]
    for task in exports:
        if task.result is not None and datetime.fromisoformat(task.result["expires_at"]) <= now:
            removed_count += remove(engine, settings, task)
    store = file_store(settings)
    old_files = [file.name for file in store.files(FOLDER) if file.age > UNCLAIMED]
    with engine.connect() as connection:
        names = _names(connection)
    for name in old_files:
        if name not in names:
            store.remove(name)
    return removed_count


def _names(connection: sa.Connection) -> set[str]:
    """The files of all exports that are done."""
    rows = connection.scalars(sa.select(Task.result).where(_done))
    return {name_of(result["sha256"]) for result in rows if result is not None}

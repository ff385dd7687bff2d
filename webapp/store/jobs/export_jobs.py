"""Exports behind a request: asked for, listed, opened, and removed when their time is over.

The `selection` of an export's job is `{"keys": [...]}`, those sessions, or `{"filters": {...}}`, those that the list
shows under them when the worker begins. Its `result` has `sha256`, `bytes`, `sessions`, `written_at`, `expires_at`, and
for what was `deleted` or `changed` meanwhile `{"count", "sessions": [{"key", "id"}]}`, the first ones; or `error`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, BinaryIO

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.db.database import writing
from webapp.store.files import file_store
from webapp.store.jobs import jobs
from webapp.store.jobs.jobs import EXPORT, JobLine, NoSuchJob
from webapp.store.models import Job
from webapp.store.sessions.filters import Filters

FILENAME = "sessions.zip"
FOLDER = "exports"
REMOVED = "removed"
"""what an export is whose file was removed, by its time or by somebody"""
UNCLAIMED = 24 * 3600.0
"""seconds after which a file that no export names was left by a killed worker"""
_AGAIN = "Export the sessions again."
_exports = sa.select(Job.__table__).where(Job.kind == EXPORT)


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


def ask(engine: sa.Engine, settings: Settings, selection: dict[str, Any]) -> int:
    """Ask for an export; its number."""
    return jobs.make(engine, settings, filename=FILENAME, format="zip", selection=selection)


def find(connection: sa.Connection, number: int) -> JobLine:
    """Raises `NoSuchJob`."""
    job = jobs.find(connection, number)
    if job.kind != EXPORT:
        raise NoSuchJob(f"no export has the number {number}")
    return job


def page(connection: sa.Connection, *, after: int | None = None, limit: int = 50) -> list[JobLine]:
    """Exports, the newest first, those behind the number `after`."""
    query = _exports if after is None else _exports.where(Job.id < after)
    return [jobs.line_of(row) for row in connection.execute(query.order_by(Job.id.desc()).limit(limit))]


def live(connection: sa.Connection) -> list[JobLine]:
    """Those that wait or are being written, the newest first."""
    query = _exports.where(Job.state.in_(jobs.LIVE)).order_by(Job.id.desc())
    return [jobs.line_of(row) for row in connection.execute(query.limit(jobs.MOST_SHOWN))]


def name_of(sha256: str) -> str:
    """What the file of an export is called in its store."""
    return f"{FOLDER}/{sha256}.zip"


def opened(settings: Settings, job: JobLine) -> BinaryIO:
    """The file of an export, from its beginning. Raises `NotReady`, `ExportRemoved`, `StoreUnreachable`."""
    if job.state == REMOVED:
        raise ExportRemoved(f"The file of export {job.id} was removed. {_AGAIN}")
    if job.state != "done" or job.result is None:
        words = "is not written yet" if job.live else f"has no file: it is {job.state}"
        raise NotReady(f"Export {job.id} {words}.")
    store = file_store(settings)
    try:
        return store.open(name_of(job.result["sha256"]))
    except FileNotFoundError:
        words = f"is not in {store.place}: it was removed, or is on another machine"
        raise ExportRemoved(f"The file of export {job.id} {words}. {_AGAIN}") from None


def remove(engine: sa.Engine, settings: Settings, job: JobLine) -> bool:
    """Remove the file of an export that is done; False where it is not, or was removed already."""
    with writing(engine) as connection:
        is_done = sa.and_(Job.id == job.id, Job.kind == EXPORT, Job.state == "done")
        if not connection.execute(sa.update(Job).where(is_done).values(state=REMOVED)).rowcount:
            return False
        name = name_of((job.result or {})["sha256"])
        is_shared = name in _names(connection)
    if not is_shared:
        file_store(settings).remove(name)
    return True


def purge(engine: sa.Engine, settings: Settings) -> int:
    """Remove the files of exports whose time is over, and those that killed workers left; how many exports went."""
    now, removed_count = datetime.now(UTC), 0
    with engine.connect() as connection:
        exports = [jobs.line_of(row) for row in connection.execute(_exports.where(Job.state == "done"))]
    for job in exports:
        if job.result is not None and datetime.fromisoformat(job.result["expires_at"]) <= now:
            removed_count += remove(engine, settings, job)
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
    rows = connection.scalars(sa.select(Job.result).where(Job.kind == EXPORT, Job.state == "done"))
    return {name_of(result["sha256"]) for result in rows if result is not None}

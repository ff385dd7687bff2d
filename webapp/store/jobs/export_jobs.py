"""Exports behind a request: asked for, written into one zip, listed, opened, and removed when their time is over."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.config import Settings
from webapp.refusals import NotPossible
from webapp.store import files, tasks
from webapp.store.db.database import writing
from webapp.store.db.dialect import begin_snapshot
from webapp.store.db.ids import batched
from webapp.store.exports import session_dump
from webapp.store.files import StoreUnreachable, draft, file_store
from webapp.store.ingest import dump_files
from webapp.store.ingest.result import Progress, Stopped
from webapp.store.models import Session, Task
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import of_parameters
from webapp.store.tasks import EXPORT, TaskFailed

FOLDER = "exports"
REMOVED = "removed"
"""what an export is whose file was removed, by its time or by somebody"""
UNCLAIMED = 24 * 3600.0
"""seconds after which a file that no export names was left by a killed worker"""
_AGAIN = "Export the sessions again."
_is_finished = sa.and_(Task.kind == EXPORT, Task.state == "done")


class NotReady(NotPossible):
    """The export has no file yet, or never will; the message says why."""

    status, code = 409, "not_ready"


class ExportRemoved(NotPossible):
    """The export's file was removed; the message says when."""

    status, code = 410, "removed"


def name_of(result: Mapping[str, Any]) -> str:
    """What the file of an export is called in its store; its content alone names one whose result does not say."""
    return str(result.get("name", f"{FOLDER}/{result['sha256']}.zip"))


def opened(settings: Settings, task: Task) -> BinaryIO:
    """The file of an export, from its beginning. Raises `NotReady`, `ExportRemoved`, `StoreUnreachable`."""
    if task.state == REMOVED:
        raise ExportRemoved(f"The file of export {task.id} was removed. {_AGAIN}")
    if task.state != "done" or task.result is None:
        words = "is not written yet" if task.live else f"has no file: it is {task.state}"
        raise NotReady(f"Export {task.id} {words}.")
    store = file_store(settings)
    try:
        return store.open(name_of(task.result))
    except FileNotFoundError:
        words = "is not in the store any more: it was removed, or is on another machine"
        raise ExportRemoved(f"The file of export {task.id} {words}. {_AGAIN}") from None


def remove(engine: sa.Engine, settings: Settings, task: Task) -> bool:
    """Remove the file of an export that is done; False where it is not, or was removed already."""
    with writing(engine) as connection:
        removed = sa.update(Task).where(_is_finished, Task.id == task.id).values(state=REMOVED)
        if not connection.execute(removed).rowcount:
            return False
    file_store(settings).remove(name_of(task.result or {}))
    return True


def purge(engine: sa.Engine, settings: Settings) -> int:
    """Remove the files of exports whose time is over, and those that killed workers left; how many exports went."""
    now, removed_count = datetime.now(UTC), 0
    for task in _finished(engine):
        if task.result is not None and datetime.fromisoformat(task.result["expires_at"]) <= now:
            removed_count += remove(engine, settings, task)
    store = file_store(settings)
    old_files = [file.name for file in store.files(FOLDER) if file.age > UNCLAIMED]
    names = {name_of(task.result) for task in _finished(engine) if task.result is not None}
    for name in old_files:
        if name not in names:
            store.remove(name)
    return removed_count


def _finished(engine: sa.Engine) -> list[Task]:
    """All exports that have a file."""
    with engine.connect() as connection:
        return [tasks.line_of(row) for row in connection.execute(sa.select(Task.__table__).where(_is_finished))]


MOST_NAMED = 100
"""sessions that a result names of those that were deleted or changed meanwhile; the others are counted"""
AGAIN = "Nothing of it was kept; export again."
Meanwhile = dict[str, dict[str, Any]]
"""what happened to chosen sessions before they were written, `deleted` or `changed`: how many, and the first by name"""


Chosen = list[tuple[int, str, int]]
"""the sessions of an export in order: number, key and last change of each"""


def write(engine: sa.Engine, settings: Settings, task: Task, between: Callable[[], None]) -> dict[str, Any]:
    """Write the export and move it to its place; its result. `between` is called between two sessions.

    Raises `TaskFailed`, and `Stopped` where it was cancelled or `between` says so: then nothing is left.
    """
    now, meanwhile = datetime.now(UTC), {name: {"count": 0, "sessions": []} for name in ("deleted", "changed")}

    def tell(progress: Progress) -> None:
        noted = {name: getattr(progress, name) for name in ("phase", "read", "sessions", "chosen")}
        with writing(engine) as connection:
            if not tasks.note(connection, task.id, noted):
                raise Stopped(True)

    progress = Progress(tell)
    try:
        with files.full_disk_in_words(), _draft(settings, task.id) as path:
            progress.begin("exporting", 0)
            with orm.Session(engine) as db:
                chosen = _chosen(db, task.about, meanwhile)
            progress.chosen = len(chosen)
            with orm.Session(engine) as db:
                chosen_sessions = _sessions(db, chosen, progress, meanwhile, between)
                sha256 = _write_pieces(path, session_dump.stream_zip(db, chosen_sessions, now), progress)
            size = path.stat().st_size
            name = f"{FOLDER}/{task.id}-{sha256}.zip"
            file_store(settings).put(name, path)
    except files.DiskFull:
        raise TaskFailed(files.DISK_FULL, f"The disk is full. Make room in the data folder. {AGAIN}") from None
    except StoreUnreachable as error:
        raise TaskFailed("store_unreachable", f"{error}. {AGAIN}") from error
    expires_at = datetime.now(UTC) + timedelta(days=settings.export_days)
    times = {"written_at": now.isoformat(), "expires_at": expires_at.isoformat()}
    return {"name": name, "sha256": sha256, "bytes": size, "sessions": progress.sessions, **times, **meanwhile}


def _write_pieces(path: Path, pieces: Generator[bytes, None, None], progress: Progress) -> str:
    """Write them to the file; their SHA-256."""
    digest = hashlib.sha256()
    with path.open("wb") as out, closing(pieces):
        for piece in pieces:
            out.write(piece)
            digest.update(piece)
            progress.advance(len(piece))
    progress.tell(progress)
    return digest.hexdigest()


@contextmanager
def _draft(settings: Settings, number: int) -> Iterator[Path]:
    """A file that only this attempt writes to; what a killed worker left of the same export is removed."""
    folder = dump_files.incoming(settings.data)
    for leftover in folder.glob(f"export-{number}-*"):
        leftover.unlink(missing_ok=True)
    with draft(folder, f"export-{number}-") as path:
        yield path


def _chosen(db: orm.Session, selection: dict[str, Any], meanwhile: Meanwhile) -> Chosen:
    """The sessions of a selection as it is now, in the order in which they are exported."""
    if "keys" in selection:
        matches = list(_rows(db, Session.key, selection["keys"]))
        for key in (key for key, row in matches if row is None):
            _note(meanwhile["deleted"], key, None)
    else:
        filters = of_parameters({name: str(value) for name, value in selection["filters"].items()})
        matches = list(_rows(db, Session.id, sessions.ids_in_order(db, filters)))
    return [row for _, row in matches if row is not None]


def _note(by_name: dict[str, Any], key: str, external_id: str | None) -> None:
    by_name["count"] += 1
    if by_name["count"] <= MOST_NAMED:
        by_name["sessions"].append({"key": key, "id": external_id})


def _rows(
    db: orm.Session, column: orm.InstrumentedAttribute[Any], values: Iterable[Any]
) -> Iterator[tuple[Any, tuple[int, str, int] | None]]:
    """Each value with number, key and last change of its session; None where that is deleted."""
    query = sa.select(Session.id, Session.key, Session.changed, column).where(Session.deleted_at.is_(None))
    for batch in batched(values):
        rows = {row[3]: (row[0], row[1], row[2]) for row in db.execute(query.where(column.in_(batch)))}
        db.rollback()
        yield from ((value, rows.get(value)) for value in batch)


def _sessions(
    db: orm.Session, chosen: Chosen, progress: Progress, meanwhile: Meanwhile, between: Callable[[], None]
) -> Iterator[Session]:
    """The chosen sessions that are still there, each in a transaction that ends when the next one is asked for."""
    for number, key, changed in chosen:
        begin_snapshot(db.connection())
        session = db.get(Session, number)
        if session is None or session.deleted_at is not None:
            _note(meanwhile["deleted"], key, session.external_id if session else None)
        else:
            if session.changed != changed:
                _note(meanwhile["changed"], session.key, session.external_id)
            yield session
            progress.sessions += 1
        db.rollback()
        db.expunge_all()
        between()

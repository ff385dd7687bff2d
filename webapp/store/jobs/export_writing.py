"""Writes an export: chooses its sessions, writes their dumps into one zip, moves that to its place when it is whole.

Each session is read in a transaction of its own, so that no snapshot of the database is held for long.
"""

from __future__ import annotations

import hashlib
import logging
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.config import Settings
from webapp.store import index
from webapp.store.db import disk_full
from webapp.store.exports import zipped
from webapp.store.files import StoreUnreachable, draft, file_store
from webapp.store.ingest import dump_files
from webapp.store.ingest.progress import Progress, Stopped
from webapp.store.jobs import claims, export_jobs
from webapp.store.jobs.jobs import MOST_TRIES, JobLine
from webapp.store.models import Session
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import of_parameters

MOST_NAMED = 100
"""sessions that a result names of those that were deleted or changed meanwhile; the others are counted"""
AGAIN = "Nothing of it was kept; export again."
_AT_ONCE = 500
_KEY = 16
"""characters of the longest key"""
_log = logging.getLogger(__name__)


class ExportFailed(RuntimeError):
    """An export cannot be written; the message says what to do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Chosen:
    """The sessions of an export in order, each with the number of its last change; a million take 32 MB."""

    ids: array[int] = field(default_factory=lambda: array("q"))
    changed: array[int] = field(default_factory=lambda: array("q"))
    keys: bytearray = field(default_factory=bytearray)

    def add(self, number: int, key: str, changed: int) -> None:
        self.ids.append(number)
        self.changed.append(changed)
        self.keys += key.encode("ascii").ljust(_KEY)

    def key(self, at: int) -> str:
        return self.keys[at * _KEY : (at + 1) * _KEY].decode("ascii").rstrip()


@dataclass(slots=True)
class NamedSessions:
    """Sessions of which a result says something: how many, and the first by name."""

    count: int = 0
    first: list[dict[str, str | None]] = field(default_factory=list)

    def add(self, key: str, external_id: str | None) -> None:
        self.count += 1
        if len(self.first) < MOST_NAMED:
            self.first.append({"key": key, "id": external_id})

    def as_dict(self) -> dict[str, Any]:
        return {"count": self.count, "sessions": self.first}


@dataclass(slots=True)
class Meanwhile:
    """What happened to chosen sessions before they were written."""

    deleted: NamedSessions = field(default_factory=NamedSessions)
    changed: NamedSessions = field(default_factory=NamedSessions)


def outcome(
    engine: sa.Engine, settings: Settings, job: JobLine, progress: Progress, give_way: Callable[[], None]
) -> tuple[str, dict[str, Any]]:
    """The state that an export ends in, and its result. Raises `Stopped` where the worker is to end."""
    if job.tries > MOST_TRIES:
        return _failed("gave_up", f"The export broke off {job.tries} times without an error. {AGAIN}")
    try:
        return "done", write(engine, settings, job, progress, give_way)
    except Stopped as stopped:
        if not stopped.cancelled:
            raise
        return _failed("cancelled", "Cancelled. Nothing of it was kept.", "cancelled")
    except ExportFailed as error:
        _log.error("export %s: %s", job.id, error)
        return _failed(error.code, str(error))
    except sa.exc.OperationalError:
        raise
    except Exception:  # noqa: BLE001 - the job loop
        _log.exception("export %s", job.id)
        return _failed("internal_error", f"Something broke on our side; the server's log says what. {AGAIN}")


def _failed(code: str, message: str, state: str = "failed") -> tuple[str, dict[str, Any]]:
    return state, {"error": {"code": code, "message": message, "at": None}}


def write(
    engine: sa.Engine, settings: Settings, job: JobLine, progress: Progress, give_way: Callable[[], None]
) -> dict[str, Any]:
    """Write the export of `job` and move it to its place; its result. `give_way` is called between two sessions.

    Raises `ExportFailed`, and `Stopped` where `progress` says so: then nothing is left.
    """
    try:
        with disk_full.in_words(), _draft(settings, job.id) as path:
            return _written(engine, settings, job, progress, give_way, path)
    except disk_full.DiskFull:
        raise ExportFailed(disk_full.CODE, f"The disk is full. Make room in the data folder. {AGAIN}") from None
    except StoreUnreachable as error:
        raise ExportFailed("store_unreachable", f"{error}. {AGAIN}") from error


def _written(
    engine: sa.Engine,
    settings: Settings,
    job: JobLine,
    progress: Progress,
    give_way: Callable[[], None],
    path: Path,
) -> dict[str, Any]:
    now, digest, meanwhile = datetime.now(UTC), hashlib.sha256(), Meanwhile()
    progress.begin("exporting", 0)
    index.keep_in(engine, settings.data)
    with orm.Session(engine) as db:
        chosen = _chosen(db, job.selection or {}, meanwhile)
    progress.chosen = len(chosen.ids)
    with path.open("wb") as out, _reader(engine) as db:
        chosen_sessions = _sessions(db, chosen, progress, meanwhile, give_way)
        with closing(zipped.stream(db, chosen_sessions, now)) as pieces:
            for piece in pieces:
                out.write(piece)
                digest.update(piece)
                progress.advance(len(piece))
    progress.tell(progress)
    size, sha256 = path.stat().st_size, digest.hexdigest()
    file_store(settings).put(export_jobs.name_of(sha256), path)
    return {
        "sha256": sha256,
        "bytes": size,
        "sessions": progress.sessions,
        "written_at": now.isoformat(),
        "expires_at": (datetime.now(UTC) + timedelta(days=settings.export_days)).isoformat(),
        "deleted": meanwhile.deleted.as_dict(),
        "changed": meanwhile.changed.as_dict(),
    }


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
    chosen = Chosen()
    if "keys" in selection:
        for key, row in _rows(db, Session.key, selection["keys"]):
            chosen.add(*row) if row is not None else meanwhile.deleted.add(key, None)
        return chosen
    filters = of_parameters({name: str(value) for name, value in selection["filters"].items()})
    for _, row in _rows(db, Session.id, sessions.ids_in_order(db, filters)):
        if row is not None:
            chosen.add(*row)
    return chosen


def _rows(
    db: orm.Session, column: orm.InstrumentedAttribute[Any], values: Iterable[Any]
) -> Iterator[tuple[Any, tuple[int, str, int] | None]]:
    """Each value with number, key and last change of its session; None where that is deleted."""
    query = sa.select(Session.id, Session.key, Session.changed, column).where(Session.deleted_at.is_(None))
    iterator = iter(values)
    while batch := list(islice(iterator, _AT_ONCE)):
        rows = {row[3]: (row[0], row[1], row[2]) for row in db.execute(query.where(column.in_(batch)))}
        db.rollback()
        yield from ((value, rows.get(value)) for value in batch)


@contextmanager
def _reader(engine: sa.Engine) -> Iterator[orm.Session]:
    """A session of the database in which each transaction sees one state of it."""
    is_shared = claims.is_shared(engine)
    with orm.Session(engine.execution_options(isolation_level="REPEATABLE READ") if is_shared else engine) as db:
        yield db


def _sessions(
    db: orm.Session, chosen: Chosen, progress: Progress, meanwhile: Meanwhile, give_way: Callable[[], None]
) -> Iterator[Session]:
    """The chosen sessions that are still there, each in a transaction that ends when the next one is asked for."""
    for at, number in enumerate(chosen.ids):
        if db.get_bind().dialect.name == "sqlite":
            db.connection().exec_driver_sql("BEGIN DEFERRED")
        session = db.get(Session, number)
        if session is None or session.deleted_at is not None:
            meanwhile.deleted.add(chosen.key(at), session.external_id if session else None)
        else:
            if session.changed != chosen.changed[at]:
                meanwhile.changed.add(session.key, session.external_id)
            yield session
            progress.sessions += 1
        db.rollback()
        db.expunge_all()
        give_way()

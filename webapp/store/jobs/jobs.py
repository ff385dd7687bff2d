"""Jobs: what goes on behind a request, each a row: who works at it, how far it is, and whether it is to stop."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.db import database, disk_full
from webapp.store.ingest import dump_files
from webapp.store.jobs import claims, uploads
from webapp.store.models import Job

LIVE = ("queued", "running")
IMPORT, EXPORT = "import", "export"
"""kinds of jobs"""
HELD = "held"
"""A job that waits for somebody to say what names its sessions."""
MOST_TRIES = 3
"""How many workers may die over a job before it is given up."""
MOST_SHOWN = 500
_REMEMBERED = timedelta(days=1)


class NoSuchJob(LookupError):
    """No job has that number."""


class JobFailed(RuntimeError):
    """A job cannot be done; `error` is what its result says: code, message (what to do), at."""

    def __init__(self, code: str | None, message: str | None, at: str | None = None) -> None:
        super().__init__(message)
        self.error: dict[str, str | None] = {"code": code, "message": message, "at": at}


@dataclass(frozen=True, slots=True)
class JobLine:
    """One job: `state` is held, queued, running, done, failed or cancelled; `asked` says that it is to stop.

    `progress` is what `Progress` counts, {} before the first telling; `owner` is the worker that has it. `result` has
    `error` (code, message, at), or of an import `created`, `sessions`, `new`, `grown`, `turns`, `problems` (counts);
    `store.jobs.export_jobs` says what an export has.
    """

    id: int
    kind: str
    state: str
    filename: str
    spooled: str
    bytes: int
    format: str | None
    home: str | None
    mapping: dict[str, str] | None
    selection: dict[str, Any] | None
    progress: dict[str, Any]
    tries: int
    owner: str | None
    result: dict[str, Any] | None
    dump_id: int | None
    made_at: datetime
    ended_at: datetime | None
    asked: bool

    @property
    def live(self) -> bool:
        return self.state in LIVE


def own(settings: Settings, stream: BinaryIO) -> Path:
    """Put an upload where a job keeps it, safe from a power cut; the file itself where it is one already."""
    target = dump_files.incoming(settings.data) / f"{dump_files.JOB}{secrets.token_hex(8)}"
    try:
        with disk_full.in_words():
            _link_or_copy(stream, target)
            with target.open("rb") as file:
                os.fsync(file.fileno())
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target


def _link_or_copy(stream: BinaryIO, target: Path) -> None:
    name = getattr(stream, "name", None)
    if isinstance(name, str) and Path(name).parent == target.parent:
        stream.flush()
        with contextlib.suppress(OSError):
            os.link(name, target)
            return
    with target.open("xb") as out:
        shutil.copyfileobj(stream, out, 1024 * 1024)


def make(
    engine: sa.Engine,
    settings: Settings,
    *,
    filename: str,
    path: Path | None = None,
    dump_id: int | None = None,
    size: int | None = None,
    format: str | None = None,  # noqa: A002
    home: str | None = None,
    mapping: Mapping[str, str] | None = None,
    keys: Mapping[str, Any] | None = None,
    selection: Mapping[str, Any] | None = None,
) -> int:
    """A job for the file at `path` (see `own`), for reading the dump `dump_id` again, or for exporting a `selection`.

    Gives its number. With `keys`, what may name its sessions, it is held until `release` says which does.
    """
    values = {
        "kind": IMPORT if selection is None else EXPORT,
        "selection": None if selection is None else dict(selection),
        "state": "queued" if keys is None else HELD,
        "result": None if keys is None else {"keys": dict(keys)},
        "filename": filename,
        "spooled": path.name if path else "",
        "bytes": path.stat().st_size if path else size or 0,
        "format": format and format[:64],
        "home": home and home[:64],
        "mapping": None if mapping is None else dict(mapping),
        "dump_id": dump_id,
        "cancelled": False,
        "tries": 0,
        "made_at": datetime.now(UTC),
    }
    if path is not None and settings.store:
        uploads.share(settings, path)
    with disk_full.in_words(), database.writing(engine) as connection:
        return connection.scalars(sa.insert(Job).values(values).returning(Job.id)).one()


def take(engine: sa.Engine, owner: str, number: int | None = None, kind: str | None = None) -> int | None:
    """Claim the next job (or that one) for `owner`: one that is queued, or whose worker is gone; None where none is.

    Imports come before exports, whichever was asked for first.
    """
    query = sa.select(Job.id).where(_is_free(engine, kind)).order_by(Job.kind != IMPORT, Job.id).limit(1)
    query = query.where(Job.id == number) if number is not None else query
    query = query.with_for_update(skip_locked=True)
    claim = sa.update(Job).where(Job.id == query.scalar_subquery()).values(claims.claimed_by(owner, Job))
    with database.writing(engine) as connection:
        return connection.scalar(claim.returning(Job.id))


def release(engine: sa.Engine, number: int, mapping: Mapping[str, str] | None) -> bool:
    """Let a held job be read by `mapping`; False where it is not held any more."""
    values = {"state": "queued", "mapping": mapping and dict(mapping), "result": None}
    with database.writing(engine) as connection:
        update = sa.update(Job).where(Job.id == number, Job.state == HELD)
        return bool(connection.execute(update.values(values)).rowcount)


def put_back(engine: sa.Engine, number: int, owner: str) -> None:
    """Leave a running job to the next worker."""
    with database.writing(engine) as connection:
        connection.execute(sa.update(Job).where(_is_of(number, owner)).values(state="queued", owner=None))


def end(
    engine: sa.Engine,
    settings: Settings,
    job: JobLine,
    state: str,
    result: dict[str, Any],
    dump_id: int | None,
    *,
    owner: str | None = None,
) -> bool:
    """Note how a job ended, then remove its file; False where `owner` has lost it, and nothing is done.

    Without an `owner` it is one that is held, which nobody works at.
    """
    mine = sa.and_(Job.id == job.id, Job.state == HELD) if owner is None else _is_of(job.id, owner)
    values: dict[str, Any] = {"state": state, "result": result, "dump_id": dump_id, "owner": None}
    values |= {"cancelled": state == "cancelled", "ended_at": datetime.now(UTC)}
    with database.writing(engine) as connection:
        ended = bool(connection.execute(sa.update(Job).where(mine).values(values)).rowcount)
    if ended:
        forget(settings, job)
    return ended


def _is_of(number: int, owner: str) -> sa.ColumnElement[bool]:
    return sa.and_(Job.id == number, Job.owner == owner, Job.state == "running")


def forget(settings: Settings, job: JobLine) -> None:
    """Remove the file of a job that has ended."""
    if job.spooled:
        uploads.remove(settings, job.spooled)


def cancel(engine: sa.Engine, number: int) -> None:
    """Ask a job to stop; it does when it next looks."""
    with database.writing(engine) as connection:
        connection.execute(sa.update(Job).where(Job.id == number, Job.state.in_(LIVE)).values(cancelled=True))


def find(connection: sa.Connection, number: int) -> JobLine:
    """Raises `NoSuchJob`."""
    row = connection.execute(sa.select(Job.__table__).where(Job.id == number)).first()
    if row is None:
        raise NoSuchJob(f"no job has the number {number}")
    return line_of(row)


def shown(connection: sa.Connection) -> list[JobLine]:
    """What the list of dumps shows before the dumps, the newest first: live imports, and those of a day without one."""
    lately = sa.and_(Job.dump_id.is_(None), Job.ended_at > datetime.now(UTC) - _REMEMBERED)
    query = sa.select(Job.__table__).where(Job.kind == IMPORT, sa.or_(Job.state.in_((*LIVE, HELD)), lately))
    return [line_of(row) for row in connection.execute(query.order_by(Job.id.desc()).limit(MOST_SHOWN))]


def live_of(connection: sa.Connection, dump_id: int) -> int | None:
    """The number of the live job that reads a dump again, if there is one."""
    query = sa.select(Job.id).where(Job.state.in_(LIVE), Job.dump_id == dump_id).order_by(Job.id)
    return connection.scalar(query.limit(1))


def are_live(connection: sa.Connection) -> bool:
    return connection.scalar(sa.select(Job.id).where(Job.state.in_(LIVE)).limit(1)) is not None


def are_free(engine: sa.Engine, connection: sa.Connection, kind: str | None = None) -> bool:
    """Whether there are jobs (of one kind, or any) that no worker has."""
    return bool(free(engine, connection, kind, most=1))


def free(engine: sa.Engine, connection: sa.Connection, kind: str | None = None, most: int = MOST_SHOWN) -> list[int]:
    """The numbers of the first jobs (of one kind, or of all) that no worker has."""
    query = sa.select(Job.id).where(_is_free(engine, kind)).order_by(Job.id).limit(most)
    return list(connection.scalars(query))


def _is_free(engine: sa.Engine, kind: str | None) -> sa.ColumnElement[bool]:
    is_left = sa.and_(Job.state == "running", claims.is_left(engine, Job.beat_at))
    return sa.and_(sa.true() if kind is None else Job.kind == kind, sa.or_(Job.state == "queued", is_left))


def live(connection: sa.Connection) -> list[JobLine]:
    query = sa.select(Job.__table__).where(Job.state.in_(LIVE)).order_by(Job.id)
    return [line_of(row) for row in connection.execute(query)]


def line_of(row: sa.Row[Any]) -> JobLine:
    values = dict(row._mapping)
    values["progress"] = values["progress"] or {}
    values["asked"] = values.pop("cancelled")
    values["dump_id"] = values["dump_id"] or values["progress"].get("dump")
    del values["beat_at"]
    return JobLine(**values)

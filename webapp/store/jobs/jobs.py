"""Jobs: ingests that go on behind a request, each a row, with a file beside it for how far it is."""

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

from webapp import jsontext
from webapp.config import Settings
from webapp.store.db import database, disk_full
from webapp.store.ingest import dump_files
from webapp.store.ingest.progress import Progress
from webapp.store.models import Job

LIVE = ("queued", "running")
HELD = "held"
"""A job that waits for somebody to say what names its sessions."""
MOST_TRIES = 3
"""How many workers may die over a job before it is given up."""
MOST_SHOWN = 500
_REMEMBERED = timedelta(days=1)
_TOLD = ("phase", "read", "bytes", "turns", "sessions", "problems", "format", "dump")


class NoSuchJob(LookupError):
    """No job has that number."""


@dataclass(frozen=True, slots=True)
class JobLine:
    """One job: `state` is held, queued, running, done, failed or cancelled; `asked` says that it is to stop.

    `progress` is what `Progress` counts, {} before the first telling. `result` has `error` (code, message, at), or
    `created`, `sessions`, `new`, `grown`, `turns`, `problems` (all counts).
    """

    id: int
    state: str
    filename: str
    spooled: str
    bytes: int
    format: str | None
    home: str | None
    mapping: dict[str, str] | None
    progress: dict[str, Any]
    tries: int
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
    folder = dump_files.incoming(settings.data)
    target = folder / f"{dump_files.JOB}{secrets.token_hex(8)}"
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
) -> int:
    """A job for the file at `path` (see `own`), or for reading the dump `dump_id` again; gives its number.

    With `keys`, what may name its sessions, it is held until `release` says which does.
    """
    values = {
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
    with disk_full.in_words(), database.writing(engine) as connection:
        return connection.scalars(sa.insert(Job).values(values).returning(Job.id)).one()


def take(engine: sa.Engine) -> int | None:
    """The next job, running from now on. One that was running had a worker that died: call it as the only worker."""
    with database.writing(engine) as connection:
        query = sa.select(Job.id, Job.state).where(Job.state.in_(LIVE)).order_by(Job.id).limit(1)
        if (job := connection.execute(query).first()) is None:
            return None
        tries = Job.tries + (1 if job.state == "running" else 0)
        values = {"state": "running", "tries": tries, "beat_at": datetime.now(UTC)}
        number: int = job.id
        connection.execute(sa.update(Job).where(Job.id == number).values(values))
        return number


def release(engine: sa.Engine, number: int, mapping: Mapping[str, str] | None) -> bool:
    """Let a held job be read by `mapping`; False where it is not held any more."""
    values = {"state": "queued", "mapping": mapping and dict(mapping), "result": None}
    with database.writing(engine) as connection:
        update = sa.update(Job).where(Job.id == number, Job.state == HELD)
        return bool(connection.execute(update.values(values)).rowcount)


def put_back(engine: sa.Engine, number: int) -> None:
    """Leave a running job to the next worker."""
    with database.writing(engine) as connection:
        connection.execute(sa.update(Job).where(Job.id == number).values(state="queued"))


def end(
    engine: sa.Engine, settings: Settings, job: JobLine, state: str, result: dict[str, Any], dump_id: int | None
) -> None:
    """Note how a job ended, then remove its files."""
    values = {
        "state": state,
        "result": result,
        "dump_id": dump_id,
        "progress": _progress(settings, job.id) or None,
        "cancelled": state == "cancelled",
        "ended_at": datetime.now(UTC),
    }
    with database.writing(engine) as connection:
        connection.execute(sa.update(Job).where(Job.id == job.id).values(values))
    forget(settings, job)


def forget(settings: Settings, job: JobLine) -> None:
    """Remove the files of a job that has ended."""
    if job.spooled:
        path_of(settings, job).unlink(missing_ok=True)
    for ending in ("now", "cancel"):
        _beside(settings, job.id, ending).unlink(missing_ok=True)


def path_of(settings: Settings, job: JobLine) -> Path:
    return dump_files.folder(settings.data) / "incoming" / job.spooled


def cancel(settings: Settings, number: int) -> None:
    """Ask a job to stop; it does when it next looks. By a file, as no row can be written beside a long transaction."""
    _beside(settings, number, "cancel").touch()


def is_cancelled(settings: Settings, number: int) -> bool:
    return _beside(settings, number, "cancel").exists()


def tell(settings: Settings, number: int, progress: Progress) -> None:
    """Put down how far a job is, whole."""
    path = _beside(settings, number, "now")
    draft = path.with_suffix(".draft")
    draft.write_text(jsontext.dumps({name: getattr(progress, name) for name in _TOLD}))
    draft.replace(path)


def find(connection: sa.Connection, settings: Settings, number: int) -> JobLine:
    """Raises `NoSuchJob`."""
    row = connection.execute(sa.select(Job.__table__).where(Job.id == number)).first()
    if row is None:
        raise NoSuchJob(f"no job has the number {number}")
    return _line(settings, row)


def shown(connection: sa.Connection, settings: Settings) -> list[JobLine]:
    """What the list of dumps shows before the dumps, the newest first: live jobs, and those of a day without one."""
    lately = sa.and_(Job.dump_id.is_(None), Job.ended_at > datetime.now(UTC) - _REMEMBERED)
    query = sa.select(Job.__table__).where(sa.or_(Job.state.in_((*LIVE, HELD)), lately))
    rows = connection.execute(query.order_by(Job.id.desc()).limit(MOST_SHOWN))
    return [_line(settings, row) for row in rows]


def live_of(connection: sa.Connection, dump_id: int) -> int | None:
    """The number of the live job that reads a dump again, if there is one."""
    query = sa.select(Job.id).where(Job.state.in_(LIVE), Job.dump_id == dump_id).order_by(Job.id)
    return connection.scalar(query.limit(1))


def are_live(connection: sa.Connection) -> bool:
    return connection.scalar(sa.select(Job.id).where(Job.state.in_(LIVE)).limit(1)) is not None


def live(connection: sa.Connection, settings: Settings) -> list[JobLine]:
    query = sa.select(Job.__table__).where(Job.state.in_(LIVE)).order_by(Job.id)
    return [_line(settings, row) for row in connection.execute(query)]


def _line(settings: Settings, row: sa.Row[Any]) -> JobLine:
    values = dict(row._mapping)
    running = values["state"] in LIVE
    values["progress"] = (_progress(settings, row.id) if running else values["progress"]) or {}
    values["asked"] = values.pop("cancelled") or (running and is_cancelled(settings, row.id))
    values["dump_id"] = values["dump_id"] or values["progress"].get("dump")
    del values["beat_at"]
    return JobLine(**values)


def _progress(settings: Settings, number: int) -> dict[str, Any]:
    try:
        progress: dict[str, Any] = jsontext.loads(_beside(settings, number, "now").read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return progress


def _beside(settings: Settings, number: int, ending: str) -> Path:
    return dump_files.folder(settings.data) / "incoming" / f"{dump_files.JOB}{number}.{ending}"

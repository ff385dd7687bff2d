"""Imports behind a request: files that wait for the worker, and what killed readers left.

An import's `about` has `filename`, `bytes`, `spooled` (the file in the data folder's dumps/incoming/ that it owns until
it ends; "" reads `dump_id`'s kept one), `format`, `home` and `mapping`; its `progress` what `Progress` counts; its
`result` `created`, `sessions`, `new`, `grown`, `turns`, `problems` (counts), or while it is held `keys`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store import files, tasks
from webapp.store.db import database, locks
from webapp.store.db.ids import batched
from webapp.store.ingest import dump_files
from webapp.store.models import Dump, Task
from webapp.store.tasks import HELD, IMPORT, LIVE

AGAIN = "What was stored stays; read it again to go on."
_A_DAY = 24 * 3600.0
_REMEMBERED = timedelta(days=1)


def own(settings: Settings, stream: BinaryIO) -> Path:
    """Put an upload where an import keeps it, safe from a power cut; the file itself where it is one already."""
    target = dump_files.incoming(settings.data) / f"job-{secrets.token_hex(8)}"
    try:
        with files.full_disk_in_words():
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


def ask(
    engine: sa.Engine,
    settings: Settings,
    *,
    filename: str,
    path: Path | None = None,
    dump_id: int | None = None,
    size: int = 0,
    format: str | None = None,  # noqa: A002
    home: str | None = None,
    mapping: Mapping[str, str] | None = None,
    keys: Mapping[str, Any] | None = None,
) -> int:
    """Ask for an import of the file at `path` (see `own`), or for reading the dump `dump_id` again; its number.

    With `keys`, what may name its sessions, it is held until `release` says which does.
    """
    about = {
        "filename": filename,
        "spooled": path.name if path else "",
        "bytes": path.stat().st_size if path else size,
        "format": format and format[:64],
        "home": home and home[:64],
        "mapping": None if mapping is None else dict(mapping),
    }
    if path is not None and settings.store:
        dump_files.share_upload(settings, path)
    state = {} if keys is None else {"state": HELD, "result": {"keys": dict(keys)}}
    return tasks.make(engine, IMPORT, about, dump_id=dump_id, **state)


def release(engine: sa.Engine, number: int, mapping: Mapping[str, str] | None) -> bool:
    """Let a held import be read by `mapping`; False where it is not held any more."""
    with database.writing(engine) as connection:
        task = tasks.find(connection, number, IMPORT)
        values = {"state": "queued", "about": task.about | {"mapping": mapping and dict(mapping)}, "result": None}
        is_waiting = sa.and_(Task.id == number, Task.state == HELD)
        return bool(connection.execute(sa.update(Task).where(is_waiting).values(values)).rowcount)


def cancel(engine: sa.Engine, settings: Settings, task: Task) -> None:
    """End it; one that nobody had begun leaves nothing."""
    if tasks.cancel(engine, task.id):
        give_up(engine, task.id, tasks.cancelled(IMPORT))
        if task.state != "running":
            forget(settings, task)


def give_up(engine: sa.Engine, number: int, error: Mapping[str, str | None]) -> None:
    """Have nobody read the dump of an import further by itself, whose reader may be dead: `error` says why."""
    its_dump = sa.select(Task.dump_id).where(Task.id == number).scalar_subquery()
    is_read = sa.and_(Dump.id == its_dump, Dump.state == "reading")
    with database.writing(engine) as connection:
        connection.execute(sa.update(Dump).where(is_read).values(state="failed", error=dict(error)))


def forget(settings: Settings, task: Task) -> None:
    """Remove the file of an import that has ended."""
    if task.about["spooled"]:
        dump_files.remove_upload(settings, task.about["spooled"])


def shown(connection: sa.Connection) -> list[Task]:
    """What the list of dumps shows before the dumps, the newest first: live ones, and those of a day without a dump."""
    lately = sa.and_(Task.dump_id.is_(None), Task.ended_at > datetime.now(UTC) - _REMEMBERED)
    query = sa.select(Task.__table__).where(Task.kind == IMPORT, sa.or_(Task.state.in_((*LIVE, HELD)), lately))
    return [tasks.line_of(row) for row in connection.execute(query.order_by(Task.id.desc()).limit(tasks.MOST_SHOWN))]


class Received(NamedTuple):
    """A file that was read, or that waits to be: what it was called, when it came, its hash once it is read."""

    filename: str
    at: datetime
    sha256: str | None

    def is_of(self, path: Path, name: str, modified: float) -> bool:
        """Whether a file of the same size is that one: by its name and time, else by what is in it."""
        if name == self.filename and modified <= self.at.timestamp():
            return True
        try:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256
        except OSError:
            return False


def received(connection: sa.Connection, sizes: Collection[int]) -> Mapping[int, list[Received]]:
    """The files of these sizes in bytes that were read, or that wait to be; not those that could not be read."""
    found = defaultdict[int, list[Received]](list)
    for batch in batched(sizes):
        read = sa.select(Dump.bytes, Dump.filename, Dump.received_at, Dump.sha256)
        for row in connection.execute(read.where(Dump.state != "failed", Dump.bytes.in_(batch))):
            found[row.bytes].append(Received(row.filename, row.received_at, row.sha256))
    for task in _live(connection):
        found[task.about["bytes"]].append(Received(task.about["filename"], task.made_at, None))
    return found


def live_of(connection: sa.Connection, dump_id: int) -> int | None:
    """The number of the live import that reads a dump again, if there is one."""
    query = sa.select(Task.id).where(Task.state.in_(LIVE), Task.dump_id == dump_id).order_by(Task.id)
    return connection.scalar(query.limit(1))


def take_up(engine: sa.Engine, settings: Settings) -> None:
    """Make imports of the dumps whose reader was killed."""
    for row in left_by_readers(engine, settings):
        ask(engine, settings, filename=row.filename, dump_id=row.id, size=row.bytes, format=row.format)


def left_by_readers(engine: sa.Engine, settings: Settings) -> Iterator[sa.Row[int, str, str, str | None, int]]:
    """The dumps whose reader was killed, their locks held meanwhile: they are being read, by no task and by nobody."""
    query = sa.select(Dump.id, Dump.sha256, Dump.filename, Dump.format, Dump.bytes).where(Dump.state == "reading")
    has_task = sa.exists().where(Task.dump_id == Dump.id, Task.state.in_(LIVE))
    with engine.connect() as connection:
        dumps = connection.execute(query.where(~has_task)).all()
    for row in dumps:
        with locks.hold(engine, settings.data, row.sha256) as is_free:
            if is_free:
                yield row


def _live(connection: sa.Connection) -> list[Task]:
    rows = connection.execute(sa.select(Task.__table__).where(Task.kind == IMPORT, Task.state.in_((*LIVE, HELD))))
    return [tasks.line_of(row) for row in rows]


def tidy(engine: sa.Engine, settings: Settings) -> None:
    """Remove what killed processes left: what came in for nobody, and kept files of dumps that never were."""
    with engine.connect() as connection:
        dump_files.remove_left(settings, {task.about["spooled"] for task in _live(connection)})
    for sha256, file in dump_files.kept_files(settings):
        if file.age > _A_DAY and not _is_known(engine, sha256):
            with locks.hold(engine, settings.data, sha256) as free:
                if free and not _is_known(engine, sha256):
                    dump_files.remove(settings, sha256)


def _is_known(engine: sa.Engine, sha256: str) -> bool:
    with engine.connect() as connection:
        return connection.scalar(sa.select(Dump.id).where(Dump.sha256 == sha256)) is not None

"""Does the jobs, in order: on SQLite one process at a time, on PostgreSQL any number on any number of machines."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.dumps.records import BadDump, UnknownFormat
from webapp.store.db import database, disk_full, locks
from webapp.store.homes import changes, trials
from webapp.store.ingest import dump_files, dump_locks, kept_dumps
from webapp.store.ingest.progress import Progress, Stopped
from webapp.store.ingest.start import IngestResult, describe, ingest, ingest_again
from webapp.store.jobs import claims, export_writing, jobs, run_queue, runs, uploads
from webapp.store.jobs.heartbeat import Heartbeat
from webapp.store.jobs.heartbeat import of_job as heartbeat_of_job
from webapp.store.jobs.jobs import JobFailed
from webapp.store.jobs.processors import processors
from webapp.store.models import Dump
from webapp.store.sessions.dumps import NoSuchDump

WORKER = "worker"
"""The lock that the worker behind a server's pages holds: a data folder has one."""
LOOKS = 1.0
"""seconds between two looks for something to do"""
_A_DAY = 24 * 3600.0
_log = logging.getLogger(__name__)

Ends = Callable[[], bool]


def work(engine: sa.Engine, settings: Settings, ends: Ends = lambda: False) -> None:
    """Do all that waits, unless another process of this data folder is at it: the worker behind a server's pages.

    `ends` says when to leave the rest to the next one.
    """
    owner = claims.new_owner()
    while not ends():
        with dump_files.alone(settings.data, WORKER) as mine:
            if not mine:
                return
            work_once(engine, settings, owner, ends)
        if not is_work_free(engine, settings):
            return


def work_on(engine: sa.Engine, settings: Settings, ends: Ends, wait: Callable[[float], object] = time.sleep) -> None:
    """Do what waits and wait for more: one of any number of workers of a PostgreSQL database."""
    owner = claims.new_owner()
    while not ends():
        try:
            if is_work_free(engine, settings):
                work_once(engine, settings, owner, ends)
        except sa.exc.OperationalError as away:
            _log.warning("the worker waits for the database: %s", away.orig)
        wait(LOOKS)


def work_once(engine: sa.Engine, settings: Settings, owner: str, ends: Ends, processes: int | None = None) -> None:
    """Jobs first, then changes of home profiles, then the next run in so many processes, then trials."""
    with locks.alone(engine, "tidy") as mine:
        if mine:
            tidy(engine, settings)
            take_up(engine, settings)
    runs.end_killed(engine, settings)
    while not ends() and (number := jobs.take(engine, owner)) is not None:
        do(engine, settings, number, owner, ends)
    changes.work_all(engine, ends)
    _run(engine, settings, owner, ends, processes or processors())
    with locks.alone(engine, "trials") as mine:
        if mine:
            trials.count_all(engine, lambda: ends() or _is_asked(engine))


def _is_asked(engine: sa.Engine) -> bool:
    """Whether somebody waits for more than trying profiles."""
    with engine.connect() as connection:
        if jobs.are_free(engine, connection) or changes.are_running(connection):
            return True
    return run_queue.next_free(engine) is not None


def is_work_free(engine: sa.Engine, settings: Settings) -> bool:
    """Whether there is something that no worker is at."""
    if _is_asked(engine) or any(_left_by_readers(engine, settings)):
        return True
    with engine.connect() as connection, locks.alone(engine, "trials") as mine:
        return mine and trials.are_lacking(connection)


def is_work_left(connection: sa.Connection) -> bool:
    """Whether there are jobs, runs that a page asked for, home profiles to change, or profiles to try."""
    is_queued = jobs.are_live(connection) or run_queue.are_waiting(connection) or changes.are_running(connection)
    return is_queued or trials.are_lacking(connection)


def _run(engine: sa.Engine, settings: Settings, owner: str, ends: Ends, processes: int) -> None:
    """The next run that was asked for. Jobs go first: a run gives way to them after each chunk, and goes on later."""
    number = run_queue.next_free(engine)
    if number is None or ends():
        return

    def give_way(_finished: int, _total: int) -> None:
        with engine.connect() as connection:
            if ends() or jobs.are_free(engine, connection):
                raise Stopped(False)

    with suppress(Stopped):
        runs.take_up(engine, number, owner, give_way, processes, settings)


def take_up(engine: sa.Engine, settings: Settings) -> None:
    """Make jobs of the dumps whose reader was killed."""
    for row in _left_by_readers(engine, settings):
        jobs.make(engine, settings, filename=row.filename, dump_id=row.id, size=row.bytes, format=row.format)


def _left_by_readers(engine: sa.Engine, settings: Settings) -> Iterator[sa.Row[int, str, str, str | None, int]]:
    """The dumps whose reader was killed, their locks held meanwhile: they are being read, by no job and by nobody."""
    with engine.connect() as connection:
        query = sa.select(Dump.id, Dump.sha256, Dump.filename, Dump.format, Dump.bytes).where(Dump.state == "reading")
        dumps = connection.execute(query).all()
        busy = {job.dump_id for job in jobs.live(connection)} if dumps else set()
    for row in dumps:
        if row.id not in busy:
            with dump_locks.alone(engine, settings, row.sha256) as is_free:
                if is_free:
                    yield row


def tidy(engine: sa.Engine, settings: Settings) -> None:
    """Remove what killed processes left: files of jobs that ended, and kept files of dumps that never were."""
    with engine.connect() as connection:
        names = {job.spooled for job in jobs.live(connection)}
    for path in dump_files.incoming(settings.data).glob(f"{dump_files.JOB}*"):
        if path.name not in names and (path.suffix or dump_files.age(path) > _A_DAY):
            path.unlink(missing_ok=True)
    uploads.remove_left(settings, names)
    for sha256, file in kept_dumps.files(settings):
        if file.age > _A_DAY and not _is_known(engine, sha256):
            with dump_locks.alone(engine, settings, sha256) as free:
                if free and not _is_known(engine, sha256):
                    kept_dumps.remove(settings, sha256)


def _is_known(engine: sa.Engine, sha256: str) -> bool:
    with engine.connect() as connection:
        return connection.scalar(sa.select(Dump.id).where(Dump.sha256 == sha256)) is not None


def do(engine: sa.Engine, settings: Settings, number: int, owner: str, ends: Ends) -> None:
    """A job that `owner` claimed, to its end, whatever that is; one that is interrupted is put back."""
    with engine.connect() as connection:
        job = jobs.find(connection, number)
    with heartbeat_of_job(engine, number, owner) as heartbeat:
        progress = Progress(_teller(heartbeat, ends), dump=job.dump_id, bytes=job.bytes)
        try:
            state, result = _outcome(engine, settings, job, owner, ends, progress)
        except Stopped:
            jobs.put_back(engine, number, owner)
            return
        except sa.exc.OperationalError as busy:
            _log.warning("job %s waits for the database: %s", number, busy.orig)
            jobs.put_back(engine, number, owner)
            time.sleep(1)
            return
        if (result.get("error") or {}).get("code") == disk_full.CODE:
            jobs.forget(settings, job)  # makes room for the note of it
        heartbeat.tell(progress)
        heartbeat.beat()
        if not jobs.end(engine, settings, job, state, result, progress.dump, owner=owner):
            _log.warning("job %s was given to another worker in the meantime", number)


def _teller(heartbeat: Heartbeat, ends: Ends) -> Callable[[Progress], None]:
    def tell(progress: Progress) -> None:
        heartbeat.tell(progress)
        if heartbeat.cancelled:
            raise Stopped(True)
        if heartbeat.lost or ends():
            raise Stopped(False)

    return tell


def _imports_first(
    engine: sa.Engine, settings: Settings, owner: str, ends: Ends, progress: Progress
) -> Callable[[], None]:
    """For an export, between two of its sessions: it pauses while imports that nobody else does are done."""
    looked_at = time.monotonic()

    def is_import_free() -> bool:
        with engine.connect() as connection:
            return jobs.are_free(engine, connection, jobs.IMPORT)

    def give_way() -> None:
        nonlocal looked_at
        if time.monotonic() - looked_at < LOOKS:
            return
        while not ends() and is_import_free() and (number := jobs.take(engine, owner, kind=jobs.IMPORT)):
            progress.phase = "paused"
            progress.tell(progress)
            do(engine, settings, number, owner, ends)
        progress.phase, looked_at = "exporting", time.monotonic()

    return give_way


def _outcome(
    engine: sa.Engine, settings: Settings, job: jobs.JobLine, owner: str, ends: Ends, progress: Progress
) -> tuple[str, dict[str, Any]]:
    """The state that a job ends in, and its result. Raises `Stopped` where the worker is to end."""
    again = export_writing.AGAIN if job.kind == jobs.EXPORT else _AGAIN
    try:
        if job.tries > jobs.MOST_TRIES:
            raise JobFailed("gave_up", f"The {job.kind} broke off {job.tries} times without an error. {again}")
        if job.kind == jobs.EXPORT:
            give_way = _imports_first(engine, settings, owner, ends, progress)
            return "done", export_writing.write(engine, settings, job, progress, give_way)
        return "done", _imported(engine, settings, job, progress)
    except Stopped as stopped:
        if not stopped.cancelled:
            raise
        return "cancelled", {"error": JobFailed("cancelled", _cancelled(job, progress)).error}
    except JobFailed as failed:
        if job.kind == jobs.EXPORT:
            _log.error("export %s: %s", job.id, failed)
        return "failed", {"error": failed.error}
    except sa.exc.OperationalError:
        raise
    except Exception:  # noqa: BLE001 - the job loop
        _log.exception("%s %s", job.kind, job.id)
        broken = JobFailed("internal_error", f"Something broke on our side; the server's log says what. {again}")
        _note_failure(engine, progress.dump, broken.error)
        return "failed", {"error": broken.error}


_SEND = "Send it again; workers on several machines need one data folder or FENCEPOST_STORE that they share."
_AGAIN = "What was stored stays; read it again to go on."


def _imported(engine: sa.Engine, settings: Settings, job: jobs.JobLine, progress: Progress) -> dict[str, Any]:
    """Read a dump; what an import's result says. Raises `JobFailed`, and `Stopped` where `progress` says so."""
    try:
        result = _read(engine, settings, job, progress)
    except (BadDump, UnknownFormat) as error:
        raise JobFailed(**describe(error)) from error
    except (kept_dumps.NotKept, NoSuchDump, FileNotFoundError) as error:
        words = f"Its file is not there any more, or not on this machine ({error}). {_SEND}"
        raise JobFailed("not_kept", words) from error
    except disk_full.DiskFull as error:
        raise JobFailed(disk_full.CODE, str(error)) from error
    progress.dump = result.dump.id
    counts = {"created": result.created, "sessions": len(result.sessions), "new": result.new, "grown": result.grown}
    return counts | {"turns": result.new_turns, "problems": result.dump.problem_count}


def _read(engine: sa.Engine, settings: Settings, job: jobs.JobLine, progress: Progress) -> IngestResult:
    progress.tell(progress)
    options: dict[str, Any] = {"format": job.format, "home": job.home, "mapping": job.mapping, "watch": progress}
    if not job.spooled:
        return ingest_again(engine, settings, job.dump_id or 0, **options)
    with uploads.opened(settings, job.spooled) as stream:
        progress.begin("unpacking", job.bytes)
        return ingest(engine, settings, stream, filename=job.filename, by_request=True, **options)


def _cancelled(job: jobs.JobLine, progress: Progress) -> str:
    if job.kind == jobs.EXPORT:
        return "Cancelled. Nothing of it was kept."
    count = progress.sessions
    return "Cancelled. " + (f"{count:,} of its sessions are stored whole." if count else "Nothing of it was stored.")


def _note_failure(engine: sa.Engine, dump_id: int | None, error: dict[str, str | None]) -> None:
    """A dump that broke the reader is not read again by itself."""
    if dump_id is None:
        return
    with database.writing(engine) as connection:
        wrong = sa.and_(Dump.id == dump_id, Dump.state == "reading")
        connection.execute(sa.update(Dump).where(wrong).values(state="failed", error=error))

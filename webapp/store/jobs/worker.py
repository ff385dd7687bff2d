"""Does the tasks, in order: on SQLite one process at a time, on PostgreSQL any number on any number of machines."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from webapp import memory
from webapp.config import Settings
from webapp.dumps.budget import BadDump
from webapp.dumps.records import UnknownFormat
from webapp.parsing import UnknownProfile
from webapp.parsing.engine import NotInstalled
from webapp.store import files, tasks
from webapp.store.db import database, locks
from webapp.store.homes import changes, trials
from webapp.store.ingest import dump_files
from webapp.store.ingest.result import Progress, Stopped
from webapp.store.ingest.start import IngestResult, describe, ingest, ingest_again
from webapp.store.jobs import export_jobs, imports, pruning, replays
from webapp.store.models import Task
from webapp.store.sessions import dumps
from webapp.store.sessions.dumps import NoSuchDump
from webapp.store.tasks import EXPORT, HOMES, IMPORT, REPLAY, TaskFailed

WORKER = "worker"
"""The lock that the worker behind a server's pages holds: a data folder has one."""
LOOKS = 1.0
"""seconds between two looks for something to do"""
_AGAIN = {
    IMPORT: imports.AGAIN,
    EXPORT: export_jobs.AGAIN,
    REPLAY: "What was parsed stays; run it again to go on.",
    HOMES: "Sessions that were changed stay so; ask for it again to go on.",
}
_log = logging.getLogger(__name__)

Ends = Callable[[], bool]


def work(engine: sa.Engine, settings: Settings, ends: Ends = lambda: False) -> None:
    """Do all that waits, unless another process of this data folder is at it: the worker behind a server's pages.

    `ends` says when to leave the rest to the next one.
    """
    while not ends() and is_work_free(engine, settings):
        with locks.hold_file(settings.data, WORKER) as mine:
            if not mine:
                return
            work_once(engine, settings, ends)


def work_on(engine: sa.Engine, settings: Settings, ends: Ends, wait: Callable[[float], object] = time.sleep) -> None:
    """Do what waits and wait for more: one of any number of workers of a PostgreSQL database."""
    while not ends():
        try:
            if is_work_free(engine, settings):
                work_once(engine, settings, ends)
        except sa.exc.OperationalError as away:
            _log.warning("the worker waits for the database: %s", away.orig)
        wait(LOOKS)


def work_once(engine: sa.Engine, settings: Settings, ends: Ends) -> None:
    """Tasks first, then trials."""
    with locks.hold(engine, settings.data, "take up") as mine:
        if mine:
            imports.take_up(engine, settings)
    while _do_next(engine, settings, ends):
        pass
    with locks.hold(engine, settings.data, "trials") as mine:
        if mine:
            trials.count_all(engine, lambda: ends() or _is_asked(engine, settings))


def _do_next(engine: sa.Engine, settings: Settings, ends: Ends, *kinds: str) -> bool:
    """Do the next task (of these kinds) that nobody is at; False where there is none, or it `ends`."""
    return any(do(engine, settings, number, ends) for number in tasks.free(engine, settings, *kinds) if not ends())


def _is_asked(engine: sa.Engine, settings: Settings) -> bool:
    """Whether somebody waits for more than trying profiles."""
    return next(tasks.free(engine, settings), None) is not None


def is_work_free(engine: sa.Engine, settings: Settings) -> bool:
    """Whether there is something that no worker is at."""
    if _is_asked(engine, settings) or any(imports.left_by_readers(engine, settings)):
        return True
    with engine.connect() as connection, locks.hold(engine, settings.data, "trials") as mine:
        return mine and trials.are_lacking(connection)


def do(engine: sa.Engine, settings: Settings, number: int, ends: Ends = lambda: False) -> bool:
    """A task to its end, whatever that is, or put back where it `ends`; False where another worker is at it."""
    with tasks.hold(engine, settings, number) as mine:
        if mine and (task := tasks.begin(engine, number)) is not None:
            _do(engine, settings, task, ends)
            memory.give_back()
        return mine


def _do(engine: sa.Engine, settings: Settings, task: Task, ends: Ends) -> None:
    state, result = "done", None
    try:
        result = _result(engine, settings, task, ends)
    except Stopped as stopped:
        if not stopped.cancelled:
            tasks.put_back(engine, task.id)
            return
        state = "cancelled"  # by whoever asked for it, in words of their own
    except sa.exc.OperationalError as busy:
        _log.warning("%s %s waits for the database: %s", task.kind, task.id, busy.orig)
        tasks.put_back(engine, task.id)
        time.sleep(1)
        return
    except TaskFailed as failed:
        _log.error("%s %s: %s", task.kind, task.id, failed)
        state, result = "failed", {"error": failed.error}
    except Exception:  # noqa: BLE001 - the loop of tasks
        _log.exception("%s %s", task.kind, task.id)
        words = f"Something broke on our side; the server's log says what. {_AGAIN.get(task.kind, '')}".strip()
        state, result = "failed", {"error": TaskFailed("internal_error", words).error}
    _end(engine, settings, task, state, result)


def _end(engine: sa.Engine, settings: Settings, task: Task, state: str, result: dict[str, Any] | None) -> None:
    error = (result or {}).get("error")
    if task.kind == IMPORT and error:
        if error["code"] == files.DISK_FULL:
            imports.forget(settings, task)  # makes room for the note of it
        imports.give_up(engine, task.id, error)
    tasks.end(engine, task.id, state, result)
    if task.kind == IMPORT:
        imports.forget(settings, task)


def _result(engine: sa.Engine, settings: Settings, task: Task, ends: Ends) -> dict[str, Any] | None:
    """What came of it. Raises `TaskFailed`, and `Stopped` where it was cancelled or the worker is to end."""
    if task.tries > tasks.MOST_TRIES:
        words = f"The {task.kind} broke off {task.tries} times without an error. {_AGAIN.get(task.kind, '')}"
        raise TaskFailed("gave_up", words.strip())
    if task.kind == IMPORT:
        return import_dump(engine, settings, task, ends)
    give_way = _imports_first(engine, settings, ends)
    if task.kind == EXPORT:
        return export_jobs.write(engine, settings, task, give_way)
    try:
        if task.kind == REPLAY:
            return replays.work(engine, task, between=give_way)
        if task.kind == HOMES:
            changes.work(engine, task.id, between=give_way)
            return None
    except (UnknownProfile, NotInstalled) as error:
        raise TaskFailed("unknown_profile", str(error)) from error
    return pruning.work(engine, settings, task, between=give_way)


def _imports_first(engine: sa.Engine, settings: Settings, ends: Ends) -> Callable[[], None]:
    """For a longer task, between two of its steps: it waits while imports are done that nobody else does."""
    looked_at = time.monotonic()

    def give_way() -> None:
        nonlocal looked_at
        if ends():
            raise Stopped(False)
        if time.monotonic() - looked_at < LOOKS:
            return
        while _do_next(engine, settings, ends, IMPORT):
            pass
        looked_at = time.monotonic()

    return give_way


_SEND = "Send it again; workers on several machines need one data folder or FENCEPOST_STORE that they share."
_TOLD = ("phase", "read", "bytes", "turns", "sessions", "problems", "chosen", "format")


def import_dump(engine: sa.Engine, settings: Settings, task: Task, ends: Ends) -> dict[str, Any]:
    """Read the dump; what the result says. Raises `TaskFailed`, and `Stopped` where it was cancelled or `ends`."""

    def tell(progress: Progress) -> None:
        if not _note(engine, task.id, progress):
            raise Stopped(True)
        if ends():
            raise Stopped(False)

    progress = Progress(tell, dump=task.dump_id, bytes=task.about["bytes"])
    try:
        result = _read(engine, settings, task, progress)
        progress.dump = result.dump.id
    except (BadDump, UnknownFormat, files.DiskFull) as error:
        raise TaskFailed(**describe(error)) from error
    except (dump_files.NotKept, NoSuchDump, FileNotFoundError) as error:
        words = f"Its file is not there any more, or not on this machine ({error}). {_SEND}"
        raise TaskFailed("not_kept", words) from error
    finally:
        _note(engine, task.id, progress)
    counts = {"new": result.new, "grown": result.grown, "turns": result.new_turns}
    if task.progress and result.dump.received_at >= task.made_at:  # another worker began it, and stored some of it
        with engine.connect() as connection:
            counts = dumps.brought(connection, result.dump.id)
    created = counts["new"] + counts["grown"] > 0
    return {"created": created, "sessions": len(result.sessions), **counts, "problems": result.dump.problem_count}


def _note(engine: sa.Engine, number: int, progress: Progress) -> bool:
    """Note how far an import is; False where somebody cancelled it."""
    try:
        with database.writing(engine) as connection:
            told = {name: getattr(progress, name) for name in _TOLD}
            return tasks.note(connection, number, told, dump_id=progress.dump)
    except sa.exc.OperationalError as busy:
        _log.warning("how far import %d is was not noted: %s", number, busy.orig)
        return True


def _read(engine: sa.Engine, settings: Settings, task: Task, progress: Progress) -> IngestResult:
    progress.tell(progress)
    options: dict[str, Any] = {name: task.about[name] for name in ("format", "home", "mapping")}
    if not task.about["spooled"]:
        return ingest_again(engine, settings, task.dump_id or 0, watch=progress, **options)
    with dump_files.open_upload(settings, task.about["spooled"]) as stream:
        progress.begin("unpacking", task.about["bytes"])
        filename = task.about["filename"]
        return ingest(engine, settings, stream, filename=filename, by_request=True, watch=progress, **options)

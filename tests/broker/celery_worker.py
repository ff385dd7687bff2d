"""Celery's worker as a process of its own, and what it is given to do."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
from collections.abc import Iterator

import sqlalchemy as sa

from tests import forking
from tests.forking import ForkedProcess
from tests.store.jobs.workers import ROOT
from tests.store.made import BROKEN, entry
from webapp.config import Settings
from webapp.store import tasks
from webapp.store.jobs import imports
from webapp.store.models import Parse, Task

SESSIONS, AT_ONCE = 12, 10
CHILD = f"""
from webapp.commands.work import work_on
from webapp.config import Settings
from webapp.store.jobs import replays

replays.AT_ONCE = {AT_ONCE}
work_on(Settings.from_environment(), 2)
"""


@contextlib.contextmanager
def celery(settings: Settings) -> Iterator[ForkedProcess]:
    """A worker with two processes, all of which are killed in the end."""
    broker = {"FENCEPOST_BROKER": settings.broker or "", "FENCEPOST_QUEUE": settings.queue}
    environ = {**os.environ, **settings.environment(), **broker, "PYTHONPATH": str(ROOT)}
    process = forking.script(CHILD, environ=environ, imports=("celery", "webapp.broker"), leads=True)
    try:
        yield process
    finally:
        kill(process)
        process.communicate()


def kill(process: ForkedProcess) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def upload(engine: sa.Engine, settings: Settings) -> int:
    lines = (
        json.dumps(entry(f"{n} {BROKEN}", session_id=f"s{n // AT_ONCE}")).encode() for n in range(SESSIONS * AT_ONCE)
    )
    path = imports.own(settings, io.BytesIO(b"\n".join(lines)))
    return imports.ask(engine, settings, filename="a.jsonl", path=path)


def find(engine: sa.Engine, number: int) -> Task:
    with engine.connect() as connection:
        return tasks.find(connection, number)


def states(engine: sa.Engine) -> list[str]:
    """Of all tasks, in the order in which they were asked for."""
    with engine.connect() as connection:
        return list(connection.scalars(sa.select(Task.state).order_by(Task.id)))


def parsed(engine: sa.Engine, profile: str) -> int:
    with engine.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).where(Parse.profile == profile)) or 0

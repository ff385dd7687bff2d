"""Workers as processes of their own, as `fencepost work` starts them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.db import clock
from webapp.store.jobs import claims
from webapp.store.models import Job, Run, RunChunk

ROOT = Path(__file__).resolve().parents[3]
Process = subprocess.Popen[bytes]


def start(settings: Settings, *options: str, **environ: str) -> Process:
    """`fencepost work` with these options; the caller ends it."""
    variables = {**os.environ, **settings.environment(), "PYTHONPATH": str(ROOT), **environ}
    arguments = [sys.executable, "-m", "webapp", "work", *options]
    return subprocess.Popen(arguments, cwd=ROOT, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def silent(engine: sa.Engine, pid: int | None = None) -> None:
    """Have that worker (or all) been silent for long, as if the time had passed."""
    for table in (Job, Run, RunChunk):
        mine = sa.true() if pid is None else table.owner.contains(f":{pid}:")
        with engine.begin() as connection:
            connection.execute(sa.update(table).where(mine).values(beat_at=clock.ago(claims.STALE + 1)))


@contextmanager
def ending(process: Process) -> Iterator[Process]:
    """The process, killed in the end whatever happens."""
    with process:
        try:
            yield process
        finally:
            process.kill()


def until(is_so: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Look until it is so; False where it is not in so many seconds."""
    end = time.monotonic() + seconds
    while not (now := is_so()) and time.monotonic() < end:
        time.sleep(0.05)
    return now

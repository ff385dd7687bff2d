"""A worker in a process of its own that waits at a place of the program, to be killed there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests import forking
from tests.forking import ForkedProcess
from webapp.config import Settings

CHILD = """
import pkgutil
import sys
from pathlib import Path
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest import dump_ingest
from webapp.store.jobs import worker

data, url, owner, name, at = sys.argv[1:]
dump_ingest.MOST_SESSIONS = 1
holder, calls = pkgutil.resolve_name(owner), []
real = getattr(holder, name)

def called(*args, **kwargs):
    calls.append(1)
    if len(calls) == int(at):
        print("waiting", flush=True)
        sys.stdin.read()
    return real(*args, **kwargs)

setattr(holder, name, called)
worker.work(database.connect(url), Settings(data=Path(data), database=url, home="direct"))
"""


@contextmanager
def worker_at(settings: Settings, place: str) -> Iterator[ForkedProcess]:
    """A worker that waits before a call: `module function`, or `module:Class function`, with the number of the call."""
    owner, name, *at = place.split()
    process = forking.script(CHILD, str(settings.data), settings.database, owner, name, *(at or ["1"]))
    try:
        assert process.stdout.readline() == b"waiting\n"
        yield process
    finally:
        process.kill()
        process.communicate()

"""A worker's signs of life: a thread of its own writes them, with how far a job is.

The thread that does the work writes nothing of this: it may be within a transaction of its own, beside which SQLite
takes no other.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import sqlalchemy as sa

from webapp.store.db import clock, database
from webapp.store.ingest.progress import Progress
from webapp.store.jobs import claims
from webapp.store.models import Job, Run, RunChunk

_TOLD = ("phase", "read", "bytes", "turns", "sessions", "problems", "chosen", "format", "dump")
_log = logging.getLogger(__name__)


class Heartbeat:
    """Of one job that `owner` works at. `lost` says that somebody else has it by now."""

    def __init__(self, engine: sa.Engine, number: int, owner: str) -> None:
        self._engine = engine
        self._mine = sa.and_(Job.id == number, Job.owner == owner, Job.state == "running")
        self.progress: dict[str, Any] = {}
        self.cancelled = self.lost = False

    def tell(self, progress: Progress) -> None:
        """Note how far the job is, which the next sign of life says, and learn whether it is to stop.

        The sign of life itself waits for SQLite's write lock, for seconds beside a job that writes without a pause.
        """
        self.progress = {name: getattr(progress, name) for name in _TOLD}
        with self._engine.connect() as connection:
            cancelled = connection.scalar(sa.select(Job.cancelled).where(self._mine))
        self.cancelled, self.lost = bool(cancelled), cancelled is None

    def beat(self) -> None:
        with database.writing(self._engine) as connection:
            values = {"beat_at": clock.now(), "progress": self.progress}
            connection.execute(sa.update(Job).where(self._mine).values(values))


@contextmanager
def of_job(engine: sa.Engine, number: int, owner: str) -> Iterator[Heartbeat]:
    """Signs of life for a job until this ends."""
    heartbeat = Heartbeat(engine, number, owner)
    with _beating(heartbeat.beat):
        yield heartbeat


@contextmanager
def of_run(engine: sa.Engine, number: int, owner: str) -> Iterator[None]:
    """Signs of life for the chunks of a run that `owner` has, and for the run where that is its own, until this ends.

    Not on SQLite, where nobody asks for them.
    """
    mine = (
        sa.update(RunChunk).where(RunChunk.run_id == number, RunChunk.owner == owner, RunChunk.state == "running"),
        sa.update(Run).where(Run.id == number, Run.owner == owner),
    )

    def beat() -> None:
        for update in mine:
            with engine.begin() as connection:
                connection.execute(update.values(beat_at=clock.now()))

    with _beating(beat) if claims.is_shared(engine) else nullcontext():
        yield


@contextmanager
def _beating(beat: Callable[[], None]) -> Iterator[None]:
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(claims.BEAT):
            try:
                beat()
            except sa.exc.OperationalError as busy:
                _log.warning("no sign of life: %s", busy.orig)

    thread = threading.Thread(target=go_on, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()

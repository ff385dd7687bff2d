"""A worker's signs of life: a thread of its own writes them, with how far the job is, and reads whether it is to stop.

The thread that reads the dump writes nothing of this: it may be within a transaction of its own, beside which SQLite
takes no other.
"""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Any

import sqlalchemy as sa

from webapp.store.db import clock, database
from webapp.store.ingest.progress import Progress
from webapp.store.jobs import claims
from webapp.store.models import Job

_TOLD = ("phase", "read", "bytes", "turns", "sessions", "problems", "format", "dump")
_log = logging.getLogger(__name__)


class Heartbeat:
    """Of one job that `owner` works at, between `with` and its end. `lost` says that somebody else has it by now."""

    def __init__(self, engine: sa.Engine, number: int, owner: str) -> None:
        self._engine = engine
        self._mine = sa.and_(Job.id == number, Job.owner == owner, Job.state == "running")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="heartbeat", daemon=True)
        self.progress: dict[str, Any] = {}
        self.cancelled = self.lost = False

    def __enter__(self) -> Heartbeat:
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def tell(self, progress: Progress) -> None:
        """Note how far the job is; the next sign of life says it."""
        self.progress = {name: getattr(progress, name) for name in _TOLD}

    def beat(self) -> None:
        """One sign of life; what was asked is read first, since reading never waits."""
        self._look()
        with database.writing(self._engine) as connection:
            values = {"beat_at": clock.now(), "progress": self.progress}
            connection.execute(sa.update(Job).where(self._mine).values(values))

    def _look(self) -> None:
        with self._engine.connect() as connection:
            cancelled = connection.scalar(sa.select(Job.cancelled).where(self._mine))
        self.cancelled, self.lost = bool(cancelled), cancelled is None

    def _go_on(self) -> None:
        while not self._ended.wait(claims.BEAT):
            try:
                self.beat()
            except sa.exc.OperationalError as busy:
                _log.warning("no sign of life of a job: %s", busy.orig)

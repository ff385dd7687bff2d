"""Tells workers by the broker what waits in the database; what a broker loses is said again."""

from __future__ import annotations

import logging
import threading
import time

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.jobs import jobs, run_queue

AGAIN = 600.0
"""seconds after which this process says a thing again that still waits"""
EXPIRES = 30.0
"""seconds after which nobody need catch up any more: the next message says so anew"""
_log = logging.getLogger(__name__)


class Messenger:
    """Of one process; the same row is not told again within ten minutes."""

    def __init__(self, settings: Settings, engine: sa.Engine) -> None:
        self._settings, self._engine = settings, engine
        self._told: dict[tuple[str, int], float] = {}
        self._woken = threading.Event()

    def start(self) -> None:
        """Tell what waits from a thread of its own, every half minute and whenever `wake` is called."""
        threading.Thread(target=self._go_on, name="messenger", daemon=True).start()

    def wake(self) -> None:
        """Have it told now; no request waits for the broker."""
        self._woken.set()

    def _go_on(self) -> None:
        while True:
            try:
                self.tell()
            except sa.exc.SQLAlchemyError as error:
                _log.warning("notifying the broker again in %d seconds: %s", EXPIRES, error)
            self._woken.wait(EXPIRES)
            self._woken.clear()

    def tell(self) -> bool:
        """A message for each job and run that no worker has; False where the broker cannot be reached or refuses.

        Nothing is lost then: the rows stay, and are told with the next call.
        """
        from webapp.broker import tasks  # celery is an extra, and slow to import

        waiting = self._waiting({jobs.IMPORT: tasks.READ_DUMP, jobs.EXPORT: tasks.EXPORT}, tasks.BEGIN_RUN)
        try:
            for name, number in waiting:
                tasks.app(self._settings).send_task(name, [number], retry=False)
                self._told[name, number] = time.monotonic()
            if self._is_due("catch up", 0, EXPIRES):
                tasks.app(self._settings).send_task(tasks.CATCH_UP, retry=False, expires=EXPIRES)
                self._told["catch up", 0] = time.monotonic()
        except Exception as error:  # noqa: BLE001 - each broker's library raises its own, and this thread must go on
            kind = type(error).__name__
            _log.warning("the broker cannot be reached or refuses, work waits in the database: %s: %s", kind, error)
            return False
        return True

    def _waiting(self, kinds: dict[str, str], begin_run: str) -> list[tuple[str, int]]:
        with self._engine.connect() as connection:
            rows = [(name, job) for kind, name in kinds.items() for job in jobs.free(self._engine, connection, kind)]
        if (run := run_queue.next_free(self._engine)) is not None:
            rows.append((begin_run, run))
        return [row for row in rows if self._is_due(*row, AGAIN)]

    def _is_due(self, name: str, number: int, seconds: float) -> bool:
        return time.monotonic() - self._told.get((name, number), -seconds) >= seconds

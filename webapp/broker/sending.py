"""Tells workers by the broker what waits in the database; what a broker loses is said again."""

from __future__ import annotations

import logging
import threading
import time

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store import tasks

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
        """A message for each task that no worker has; False where the broker cannot be reached or refuses.

        Nothing is lost then: the rows stay, and are told with the next call.
        """
        from webapp.broker import tasks as messages  # celery is an extra, and slow to import

        try:
            for number in list(tasks.free(self._engine, self._settings)):
                if self._is_due(messages.DO, number, AGAIN):
                    messages.app(self._settings).send_task(messages.DO, [number], retry=False)
                    self._told[messages.DO, number] = time.monotonic()
            if self._is_due(messages.CATCH_UP, 0, EXPIRES):
                messages.app(self._settings).send_task(messages.CATCH_UP, retry=False, expires=EXPIRES)
                self._told[messages.CATCH_UP, 0] = time.monotonic()
        except sa.exc.SQLAlchemyError:
            raise
        except Exception as error:  # noqa: BLE001 - each broker's library raises its own, and this thread must go on
            kind = type(error).__name__
            _log.warning("the broker cannot be reached or refuses, work waits in the database: %s: %s", kind, error)
            return False
        return True

    def _is_due(self, name: str, number: int, seconds: float) -> bool:
        return time.monotonic() - self._told.get((name, number), -seconds) >= seconds

"""Celery over RabbitMQ or Redis: messages say what waits; the rows of the database stay the truth of it.

A message is the number of a task, which is done as the worker without a broker does it. It is acknowledged when its
task has ended, so that what a killed worker had is brought again; one that comes twice, or late, changes nothing. What
a broker loses is said again.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store import tasks

if TYPE_CHECKING:
    from celery import Celery

DO, CATCH_UP = "fencepost.do", "fencepost.catch_up"


def app(settings: Settings) -> Celery:
    """Celery as the settings say; the queue is `FENCEPOST_QUEUE`. A worker adds what does `DO` and `CATCH_UP`."""
    from celery import Celery  # here, since it is an extra, and slow to import

    celery = Celery("fencepost", broker=settings.broker, set_as_current=False)
    celery.conf.update(
        task_default_queue=settings.queue,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_send_task_events=False,
        broker_connection_retry_on_startup=True,
        broker_connection_timeout=3,
    )

    return celery


AGAIN = 600.0
"""seconds after which this process says a thing again that still waits"""
EXPIRES = 30.0
"""seconds after which nobody need catch up any more: the next message says so anew"""
_log = logging.getLogger(__name__)


class Messenger:
    """Of one process; the same row is not told again within ten minutes."""

    def __init__(self, settings: Settings, engine: sa.Engine) -> None:
        self._settings, self._engine = settings, engine
        self._told: dict[tuple[str | int, ...], float] = {}
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
        try:
            for number in list(tasks.free(self._engine, self._settings)):
                self._send(DO, AGAIN, number)
            self._send(CATCH_UP, EXPIRES, expires=EXPIRES)
        except sa.exc.SQLAlchemyError:
            raise
        except Exception as error:  # noqa: BLE001 - each broker's library raises its own, and this thread must go on
            kind = type(error).__name__
            _log.warning("the broker cannot be reached or refuses, work waits in the database: %s: %s", kind, error)
            return False
        return True

    def _send(self, name: str, seconds: float, *about: int, **options: float) -> None:
        """The message, unless it was sent within so many seconds."""
        if time.monotonic() - self._told.get((name, *about), -seconds) >= seconds:
            app(self._settings).send_task(name, about, retry=False, **options)
            self._told[name, *about] = time.monotonic()

"""Celery over RabbitMQ or Redis: messages say what waits; the rows of the database stay the truth of it.

A message is the number of a task, which is done as the worker without a broker does it. It is acknowledged when its
task has ended, so that what a killed worker had is brought again; one that comes twice, or late, changes nothing. What
a broker loses is said again.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store import tasks
from webapp.store.db import database
from webapp.store.jobs import worker

if TYPE_CHECKING:
    from celery import Celery

DO, CATCH_UP = "fencepost.do", "fencepost.catch_up"
TRIES_AGAIN = 15.0
"""seconds until a message is looked at again whose task another worker is at, in case that one is gone by then …"""
TRIES = 4
"""… and how often"""
_here: dict[int, sa.Engine] = {}
"""of this process, by its number, since a fork must not use its parent's connections"""


def app(settings: Settings) -> Celery:
    """Celery as the settings say; the queue is `FENCEPOST_QUEUE`."""
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

    def do(message: Any, number: int) -> None:
        if not worker.do(here(settings), settings, number):
            raise message.retry(countdown=TRIES_AGAIN)

    def catch_up(_: Any) -> None:
        worker.work_once(here(settings), settings, lambda: False)

    for name, function in ((DO, do), (CATCH_UP, catch_up)):
        celery.task(name=name, bind=True, max_retries=TRIES, shared=False)(function)
    return celery


def here(settings: Settings) -> sa.Engine:
    """The database of this process."""
    if os.getpid() not in _here:
        _here.clear()
        _here[os.getpid()] = database.connect(settings.database, durable=settings.durable, pool=settings.pool)
    return _here[os.getpid()]


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
        try:
            for number in list(tasks.free(self._engine, self._settings)):
                if self._is_due(DO, number, AGAIN):
                    app(self._settings).send_task(DO, [number], retry=False)
                    self._told[DO, number] = time.monotonic()
            if self._is_due(CATCH_UP, 0, EXPIRES):
                app(self._settings).send_task(CATCH_UP, retry=False, expires=EXPIRES)
                self._told[CATCH_UP, 0] = time.monotonic()
        except sa.exc.SQLAlchemyError:
            raise
        except Exception as error:  # noqa: BLE001 - each broker's library raises its own, and this thread must go on
            kind = type(error).__name__
            _log.warning("the broker cannot be reached or refuses, work waits in the database: %s: %s", kind, error)
            return False
        return True

    def _is_due(self, name: str, number: int, seconds: float) -> bool:
        return time.monotonic() - self._told.get((name, number), -seconds) >= seconds

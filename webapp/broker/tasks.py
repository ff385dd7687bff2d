"""The messages that a broker brings: the numbers of tasks, each done as the worker without a broker does it.

A message is acknowledged when its task has ended, so that what a killed worker had is brought again; one that comes
twice, or late, changes nothing.
"""

from __future__ import annotations

import os
from typing import Any

import sqlalchemy as sa
from celery import Celery

from webapp.config import Settings
from webapp.store.db import database
from webapp.store.jobs import worker

DO, CATCH_UP = "fencepost.do", "fencepost.catch_up"
TRIES_AGAIN = 15.0
"""seconds until a message is looked at again whose task another worker is at, in case that one is gone by then …"""
TRIES = 4
"""… and how often"""
_here: dict[int, sa.Engine] = {}
"""of this process, by its number, since a fork must not use its parent's connections"""


def app(settings: Settings) -> Celery:
    """Celery as the settings say; the queue is `FENCEPOST_QUEUE`."""
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

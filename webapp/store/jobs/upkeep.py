"""What a server does beside its requests: removes what was deleted long ago and
exports whose time is over, shows log records whose span never came, derives sessions that grew, and has
tasks taken up that a killed command left."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store import derive
from webapp.store.jobs import export_jobs, failure_webhook
from webapp.store.live import show_overdue
from webapp.store.sessions import deletion

_EVERY, _OVERDUE, _ALERTS, _LEFT, _GROWN = 600.0, 20.0, 60.0, 5.0, 1.0
"""seconds"""
_log = logging.getLogger(__name__)


def start(engine: sa.Engine, settings: Settings, take_up: Callable[[], object]) -> None:
    """Begin a thread for each task, so that none ends another; they end with the process.

    `take_up` sees to it that a worker does what nobody is at.
    """
    _begin(deletion.purge, engine)
    _begin(export_jobs.purge, engine, settings)
    _begin(failure_webhook.deliver, engine, settings, every=_ALERTS)
    _begin(show_overdue, engine, settings, every=_OVERDUE)
    _begin(derive.catch_up, engine, every=_GROWN)
    _begin(take_up, every=_LEFT)


def _begin(task: Callable[..., object], *about: object, every: float | None = None) -> None:
    threading.Thread(target=_repeat, args=(every, task, *about), name="upkeep", daemon=True).start()


def _repeat(every: float | None, task: Callable[..., object], *about: object) -> None:
    while True:
        try:
            task(*about)
        except (sa.exc.SQLAlchemyError, OSError) as error:  # a long write, no room, no file store, a restart
            _log.warning("%s is tried again in %d seconds: %s", task.__name__, every or _EVERY, error)
        time.sleep(every or _EVERY)

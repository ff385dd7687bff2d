"""Keeps the worker's process going while there are jobs, behind the pages of a server."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa
from flask import Flask

from webapp.broker import Messenger
from webapp.config import Settings
from webapp.extensions import WORKER, db
from webapp.store.db import locks
from webapp.store.jobs import worker
from webapp.store.jobs.worker import is_work_free

_PATIENCE = 10.0
"""seconds; a worker that is killed loses nothing, as its task is done anew from what is stored"""
_ROOT = Path(__file__).resolve().parents[2]


class WorkerSupervisor:
    """Starts the worker where there is something to do, whoever left it.

    The worker is a process of its own, of low priority, so that pages stay quick. It ends with this server: its
    standard input is a pipe from here. Of several servers over one data folder, one has the worker.
    """

    def __init__(self, settings: Settings, engine: sa.Engine) -> None:
        self._settings, self._engine = settings, engine
        self._messenger = Messenger(settings, engine)
        if settings.broker:
            self._messenger.start()
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._closed = False

    def wake(self) -> None:
        """See to it that there is a worker where there is work; call it whenever a job was made, and now and then.

        The role `web` has none.
        """
        self._messenger.wake()
        with self._lock, suppress(sa.exc.SQLAlchemyError):  # who calls it now and then tries it again
            if self._settings.role != "web" and not self._closed and self._has_ended():
                self._start_if_it_can()

    def close(self) -> None:
        """Let the worker end; a job that it is at goes on with the next one."""
        with self._lock:
            self._closed = True
            child = self._child
        if child is not None and child.stdin is not None:
            child.stdin.close()
            try:
                child.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()

    def _has_ended(self) -> bool:
        """Whether there is no worker of ours; one that ended, by itself or otherwise, is put away."""
        if self._child is not None and self._child.poll() is not None:
            if self._child.stdin is not None:
                self._child.stdin.close()
            self._child = None
        return self._child is None

    def _start_if_it_can(self) -> None:
        with locks.hold_file(self._settings.data, worker.WORKER) as is_free:
            pass  # the worker itself is to have the lock
        if is_free and is_work_free(self._engine, self._settings):
            self._child = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        environ = {**os.environ, **self._settings.environment()}
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_ROOT), environ.get("PYTHONPATH"))))
        command = [sys.executable, "-m", "webapp", "work"]
        return subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environ, start_new_session=True
        )


def init_app(app: Flask) -> None:
    """Take up what the last server left."""
    with app.app_context():
        behind = WorkerSupervisor(app.config["SETTINGS"], db.engine)
    app.extensions[WORKER] = behind
    atexit.register(behind.close)
    behind.wake()


def of(app: Flask) -> WorkerSupervisor:
    supervisor: WorkerSupervisor = app.extensions[WORKER]
    return supervisor

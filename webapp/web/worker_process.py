"""Keeps the worker's process going while there are jobs, behind the pages of a server."""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa
from flask import Flask

from webapp.broker import Messenger
from webapp.config import Settings
from webapp.extensions import WORKER, db
from webapp.store.db import locks
from webapp.store.jobs import worker
from webapp.store.jobs.worker import is_work_free, is_work_left
from webapp.store.sessions import dumps

_log = logging.getLogger(__name__)
_PATIENCE = 10.0
"""seconds; a worker that is killed loses nothing, as its task is done anew from what is stored"""
_ROOT = Path(__file__).resolve().parents[2]


class WorkerSupervisor:
    """Starts the worker where there is something to do, and again where it died over it.

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
        self._watcher: threading.Thread | None = None
        self._closed = False

    def wake(self) -> None:
        """See to it that there is a worker; call it whenever a job was made. The role `web` has none."""
        self._messenger.wake()
        with self._lock:
            if self._watcher is not None or self._closed or self._settings.role == "web":
                return
            self._start_if_it_can()
            self._watcher = threading.Thread(target=self._watch, daemon=True)
            self._watcher.start()

    def take_up(self) -> None:
        """See to it that there is a worker where work is left, by a command that was killed, too."""
        with self._engine.connect() as connection:
            is_left = is_work_left(connection) or dumps.are_being_read(connection)
        if is_left:
            self.wake()

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

    def _start_if_it_can(self) -> None:
        self._child = None
        with suppress(sa.exc.SQLAlchemyError):  # it is tried again in a second
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

    def _watch(self) -> None:
        """Wait for the worker's end, of another server's too, and start it anew where it left jobs behind."""
        while True:
            time.sleep(0 if self._has_done_its_work() else 1)
            with self._lock:
                if self._closed or not self._is_needed():
                    self._child = self._watcher = None
                    return
                self._start_if_it_can()

    def _has_done_its_work(self) -> bool:
        """Wait for our worker to end, by itself or otherwise; False at once where there is none of ours."""
        if (child := self._child) is None:
            return False
        ended = child.wait()
        if child.stdin is not None:
            child.stdin.close()
        return ended == 0

    def _is_needed(self) -> bool:
        """Also where the database does not say: one that restarts has its jobs afterwards."""
        try:
            with self._engine.connect() as connection:
                return is_work_left(connection)
        except sa.exc.SQLAlchemyError as away:
            _log.warning("whether a worker is needed is asked again in a second: %s", away)
            return True


def init_app(app: Flask) -> None:
    """Take up what the last server left."""
    with app.app_context():
        behind = WorkerSupervisor(app.config["SETTINGS"], db.engine)
    app.extensions[WORKER] = behind
    atexit.register(behind.close)
    behind.take_up()


def of(app: Flask) -> WorkerSupervisor:
    supervisor: WorkerSupervisor = app.extensions[WORKER]
    return supervisor

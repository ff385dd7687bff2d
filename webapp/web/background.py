"""Keeps the worker's process going while there are jobs, behind the pages of a server."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import sqlalchemy as sa
from flask import Flask, current_app

from webapp.config import Settings
from webapp.extensions import db
from webapp.store import dumps, jobs, kept
from webapp.store.worker import WORKER

_EXTENSION = "fencepost_background"
_PATIENCE = 10.0
"""seconds; a worker that is killed loses nothing, as its job is done anew from what is stored"""
_ROOT = Path(__file__).resolve().parents[2]


class Background:
    """Starts the worker where there is something to do, and again where it died over it.

    The worker is a process of its own, of low priority, so that pages stay quick. It ends with this server: its
    standard input is a pipe from here. Of several servers over one data folder, one has the worker.
    """

    def __init__(self, settings: Settings, engine: sa.Engine) -> None:
        self._settings, self._engine = settings, engine
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._watching = False
        self._closed = False

    def wake(self) -> None:
        """See to it that there is a worker; call it whenever a job was made."""
        with self._lock:
            if self._watching or self._closed or self._is_elsewhere():
                return
            self._start()
            self._watching = True
            threading.Thread(target=self._watch, daemon=True).start()

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

    def _is_elsewhere(self) -> bool:
        with kept.alone(self._settings.data, WORKER) as free:
            return not free

    def _start(self) -> None:
        environ = {**os.environ, **self._settings.environment()}
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_ROOT), environ.get("PYTHONPATH"))))
        command = [sys.executable, "-m", "webapp", "work"]
        self._child = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environ, start_new_session=True
        )

    def _watch(self) -> None:
        """Wait for the worker's end, and start it anew where it left jobs behind."""
        while (child := self._child) is not None:
            died = child.wait() != 0
            if child.stdin is not None:
                child.stdin.close()
            time.sleep(1 if died else 0)
            with self._lock:
                if self._closed or self._is_elsewhere() or not self._is_needed():
                    self._child, self._watching = None, False
                    return
                self._start()

    def _is_needed(self) -> bool:
        with self._engine.connect() as connection:
            return jobs.are_live(connection)


def init_app(app: Flask) -> None:
    """Take up what the last server left."""
    with app.app_context():
        behind = Background(app.config["SETTINGS"], db.engine)
        with db.engine.connect() as connection:
            left = jobs.are_live(connection) or dumps.are_being_read(connection)
    app.extensions[_EXTENSION] = behind
    atexit.register(behind.close)
    if left:
        behind.wake()


def of(app: Flask) -> Background:
    found: Background = app.extensions[_EXTENSION]
    return found


def wake() -> None:
    """See to it that jobs are done, from within a request."""
    of(current_app).wake()

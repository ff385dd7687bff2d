"""What Flask's apps share, made once and bound to an app in `create_app`: the database, and the worker to wake."""

from __future__ import annotations

from typing import Protocol

from flask import current_app
from flask_sqlalchemy_lite import SQLAlchemy

db = SQLAlchemy()
WORKER = "fencepost_worker"


class Worker(Protocol):
    """Who does the tasks that pages make."""

    def wake(self) -> None: ...


def wake() -> None:
    """See to it that tasks are done, from within a request; call it whenever one was made."""
    worker: Worker = current_app.extensions[WORKER]
    worker.wake()

"""What Flask's apps share, made once and bound to an app in `create_app`: the database, and the worker to wake."""

from __future__ import annotations

from flask import current_app
from flask_sqlalchemy_lite import SQLAlchemy

db = SQLAlchemy()
WORKER = "fencepost_worker"


def wake() -> None:
    """See to it that tasks are done, from within a request; call it whenever one was made."""
    current_app.extensions[WORKER].wake()

"""Fencepost for another server than `fencepost serve`: `gunicorn --workers 2 --threads 4 webapp.wsgi:app`.

Each process gets what `serve` has beside its pages: the index is read before anybody asks, and what was deleted long
ago is removed. Not for `--preload`: threads and database connections do not survive a fork.
"""

from __future__ import annotations

from webapp.app import create_app
from webapp.commands.serve import look_after, spool_beside

app = create_app()
spool_beside(app.config["SETTINGS"])
look_after(app)

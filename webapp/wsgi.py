"""Fencepost for another server than `fencepost serve`: `gunicorn --workers 2 --threads 4 webapp.wsgi:app`.

Each process gets what `serve` has beside its pages: the index is read before anybody asks, and what was deleted long
ago is removed. Not for `--preload`: threads and database connections do not survive a fork.
"""

from __future__ import annotations

from webapp import logs, memory
from webapp.app import create_app
from webapp.commands.serve import spool_beside
from webapp.extensions import db
from webapp.store.jobs import upkeep

memory.use_one_arena()
app = create_app()
logs.configure(app.config["SETTINGS"].log)
spool_beside(app.config["SETTINGS"])
with app.app_context():
    upkeep.start(db.engine, app.config["SETTINGS"])

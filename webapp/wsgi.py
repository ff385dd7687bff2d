"""Fencepost for another server than `fencepost serve`: `gunicorn --workers 2 --threads 4 webapp.wsgi:app`.

Each process gets what `serve` has beside its pages: settings are checked before anybody asks, and what was
deleted long ago is removed. Not for `--preload`: threads and database connections do not survive a fork.
"""

from __future__ import annotations

import sys

import click

from webapp import logs, memory
from webapp.app import running_app
from webapp.commands import _start, _store
from webapp.refusals import Refusal

CANNOT_START = 4
"""The exit code after which gunicorn ends; after others it starts its workers again and again."""


memory.use_one_arena()
try:
    settings = _store.settings()
    logs.configure(settings.log)
    with _start.starting(settings):
        app = running_app(settings)
except (click.ClickException, Refusal) as error:
    click.echo(f"Error: {error}", err=True)
    sys.exit(CANNOT_START)

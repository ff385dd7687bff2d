"""The web server: the app with its upkeep, and the waitress that serves it."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from threading import Event

import click
import sqlalchemy as sa
from flask import Flask

from webapp.app import create_app
from webapp.commands import _start, _store
from webapp.config import Settings
from webapp.extensions import db
from webapp.store import derive
from webapp.store.ingest.start import ingest_examples
from webapp.store.jobs import export_jobs, failure_webhook
from webapp.store.live.growth import show_overdue
from webapp.store.sessions import deletion
from webapp.store.sessions.dumps import count
from webapp.web import worker_process

MOST_CONNECTIONS = 1_000
MOST_HEADER_BYTES = 64 * 1024
_EVERY, _OVERDUE, _ALERTS, _LEFT, _GROWN = 600.0, 20.0, 60.0, 5.0, 1.0
"""seconds"""
_log = logging.getLogger(__name__)


def app(settings: Settings, *, examples: bool = False) -> Flask:
    """The app, checked, with its upkeep begun, and with `examples` in a database into which nothing was ever ingested.

    What keeps it from starting is said in words, with the exit codes of `check`.
    """
    _start.check(settings)
    _store.connect(settings).dispose()  # says what is wrong with the URL, where anything is
    made = _made(settings)
    with made.app_context():
        if examples and not count(db.session):
            ingest_examples(db.engine, settings)
        start_upkeep(db.engine, settings, worker_process.of(made).take_up)
    return made


def _made(settings: Settings) -> Flask:
    try:
        return create_app(settings)
    except sa.exc.DatabaseError as error:
        raise click.ClickException(_store.unusable_database(error)) from error
    except OSError as error:
        raise click.ClickException(_start.unusable_data(settings, error)) from None


def serve(
    settings: Settings,
    host: str,
    port: int,
    threads: int,
    examples: bool,
    stop_requested: Event,
    begun: Callable[[str], object] = lambda _url: None,
) -> None:
    """Start, say where the server is, also to `begun`, and serve until interrupted."""
    server = _bound(settings, host, port, threads, examples)
    try:
        url = f"http://{_start.shown(host)}:{server.effective_port}"
        click.echo(f"Fencepost is at {url} (data in {settings.data}); Ctrl+C stops it")
        sys.stdout.flush()
        begun(url)
        if not stop_requested.is_set():
            server.run()  # waitress ends by itself if the signal comes while it serves
    finally:
        server.close()


def _bound(settings: Settings, host: str, port: int, threads: int, examples: bool):  # type: ignore[no-untyped-def]
    """A waitress server that is bound and not yet running: waitress brings no types.

    It reads a body before the app is asked, so one of no route may be larger than the largest upload.
    """
    from waitress import create_server

    made = app(settings, examples=examples)
    try:
        return create_server(
            made,
            host=host,
            port=port,
            threads=threads,
            ident=None,
            max_request_header_size=MOST_HEADER_BYTES,
            max_request_body_size=settings.max_upload + 1,
            connection_limit=MOST_CONNECTIONS,
            channel_timeout=60,
            asyncore_use_poll=True,  # select() knows 1,024 files
            clear_untrusted_proxy_headers=False,  # the app asks whom they come from
        )
    except (OSError, ValueError) as error:  # ValueError: waitress knows no such host
        reason = getattr(error, "strerror", None) or error
        raise click.UsageError(f"cannot listen on {host}:{port}: {reason}; try another PORT or HOST") from error


def start_upkeep(engine: sa.Engine, settings: Settings, take_up: Callable[[], object]) -> None:
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

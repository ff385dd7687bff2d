"""The web server: the app with its upkeep, and the waitress that serves it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Event

import click
import sqlalchemy as sa
from flask import Flask

from webapp.app import create_app
from webapp.commands import _start, _store
from webapp.config import Settings
from webapp.extensions import db
from webapp.store.ingest.start import ingest_examples
from webapp.store.jobs import worker
from webapp.store.sessions.dumps import count
from webapp.web import worker_process

MOST_CONNECTIONS = 1_000
MOST_HEADER_BYTES = 64 * 1024


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
        worker.start_upkeep(db.engine, settings, worker_process.of(made).take_up)
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

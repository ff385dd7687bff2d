"""`fencepost serve`: the web server."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event

import click

from webapp import logs, memory
from webapp.commands import _start
from webapp.commands._start import stopped_by_signals
from webapp.config import BadSetting, Settings

MOST_CONNECTIONS = 1_000
MOST_HEADER_BYTES = 64 * 1024


@click.command()
@click.option("--host", envvar="HOST", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", envvar="PORT", default=5001, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free one."
)
@click.option("--examples/--no-examples", default=True, help="Load the example sessions into an empty database.")
@click.option("--threads", default=8, show_default=True, type=click.IntRange(1, 64), help="Requests served at once.")
def command(host: str, port: int, examples: bool, threads: int) -> None:
    """Serve the pages and the API until interrupted.

    Listens on loopback only, unless FENCEPOST_TOKEN or FENCEPOST_ACCOUNTS is set, since stored sessions may be
    confidential. With FENCEPOST_ROLE=worker it serves nothing and does what `fencepost work --stay` does.
    """
    memory.use_one_arena()
    settings = settings_for(host)
    logs.configure(settings.log)
    if settings.role == "worker":
        from webapp.commands.work import work_on

        work_on(settings)
        return
    with stopped_by_signals() as stop_requested:
        serve(settings, host, port, threads, examples, stop_requested)


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
    _start.check(settings)
    server = make_server(settings, host, port, threads, examples)
    try:
        url = f"http://{shown(host)}:{server.effective_port}"
        click.echo(f"Fencepost is at {url} (data in {settings.data}); Ctrl+C stops it")
        sys.stdout.flush()
        begun(url)
        if not stop_requested.is_set():
            server.run()  # waitress ends by itself if the signal comes while it serves
    finally:
        server.close()


def settings_for(host: str) -> Settings:
    """The settings, with the address among the trusted hosts. Refuses what is no loopback without a token."""
    try:
        settings = Settings.from_environment()
    except BadSetting as error:
        raise click.UsageError(str(error)) from error
    if is_loopback(host) or settings.role == "worker":
        return settings
    if not settings.asks_login:
        raise click.UsageError(
            f"{host} is not a loopback address: set FENCEPOST_TOKEN to a secret of your own first, or"
            " FENCEPOST_ACCOUNTS=1 (docs/accounts.md), so that not everybody on the network can read the sessions."
        )
    return settings if host in ("0.0.0.0", "::") else replace(settings, trusted_hosts=(*settings.trusted_hosts, host))  # noqa: S104


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def shown(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def make_server(settings: Settings, host: str, port: int, threads: int, examples: bool):  # type: ignore[no-untyped-def]
    """A waitress server that is bound and not yet running: waitress brings no types.

    It reads a body before the app is asked, so one of no route may be larger than the largest upload.
    """
    from waitress import create_server

    app = _start.app(settings)
    prepare(app, examples)
    with _listening(host, port):
        return create_server(
            app,
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


@contextmanager
def _listening(host: str, port: int) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: waitress knows no such host
        reason = getattr(error, "strerror", None) or error
        raise click.UsageError(f"cannot listen on {host}:{port}: {reason}; try another PORT or HOST") from error


def prepare(app, examples: bool) -> None:  # type: ignore[no-untyped-def]
    """Fill a database in which nothing was ever ingested, say what is not searchable yet, and begin the upkeep."""
    from webapp.extensions import db
    from webapp.store.ingest.start import ingest_examples
    from webapp.store.jobs import worker
    from webapp.store.sessions.dumps import count
    from webapp.web import worker_process

    settings = app.config["SETTINGS"]
    with app.app_context():
        if examples and not count(db.session):
            ingest_examples(db.engine, settings)
        worker.start_upkeep(db.engine, settings, worker_process.of(app).take_up)

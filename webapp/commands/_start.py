"""How servers and workers start, in words where a setting cannot hold, how one serves, and how they are stopped."""

from __future__ import annotations

import ipaddress
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Event
from types import FrameType
from wsgiref.types import WSGIApplication

import click
import sqlalchemy as sa

from webapp.commands import _store
from webapp.config import Settings
from webapp.parsing import UnknownProfile
from webapp.store.homes import changes

MOST_CONNECTIONS = 1_000
MOST_HEADER_BYTES = 64 * 1024
_HOST = re.compile(r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")


@contextmanager
def starting(settings: Settings) -> Iterator[None]:
    """Checks the settings; what keeps a server that is made within from starting is said in words.

    Exits with 2 where a setting has to be changed, with 1 where what it names cannot be used now.
    """
    try:
        _check(settings)
        _store.connect(settings).dispose()  # says what is wrong with the URL, where anything is
        yield
    except sa.exc.DatabaseError as error:
        raise click.ClickException(_store.unusable_database(error)) from error
    except OSError as error:
        place = error.filename or settings.data
        raise click.ClickException(
            f"FENCEPOST_DATA: the data folder cannot be used: {error.strerror or error}: {place}."
            f" Let the server's user read and write {settings.data}, or name another folder."
        ) from None


def _check(settings: Settings) -> None:
    for host in settings.trusted_hosts:
        if not _HOST.fullmatch(host.encode("idna").decode() if host.isprintable() and not host.isascii() else host):
            raise click.UsageError(f"FENCEPOST_TRUSTED_HOSTS takes host names such as logs.example.org, not {host!r}")
    try:
        changes.home_of_name(settings.home)
    except UnknownProfile as error:
        raise click.UsageError(f"FENCEPOST_HOME: {error.args[0]}") from None
    spool_beside(settings)
    tempfile.TemporaryFile().close()
    _check_store(settings)


def spool_beside(settings: Settings) -> None:
    """Have bodies and other large files buffered on the data folder's disk: /tmp may be small, or memory."""
    from webapp.store.ingest import dump_files

    settings.data.mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = str(dump_files.incoming(settings.data))


def _check_store(settings: Settings) -> None:
    if settings.store is None:
        return
    from webapp.store.files import StoreUnreachable, file_store

    try:
        file_store(settings).find("dumps")
    except StoreUnreachable as error:
        raise click.ClickException(f"{error}. Check its address and credentials, or unset FENCEPOST_STORE.") from None


def settings_for(host: str) -> Settings:
    """The settings, with the address among the trusted hosts. Refuses what is no loopback without a token."""
    settings = _store.settings()
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


def serve(
    make: Callable[[Settings], WSGIApplication],
    settings: Settings,
    host: str,
    port: int,
    threads: int = 8,
    begun: Callable[[str], object] = lambda _url: None,
    *,
    err: bool = False,
) -> None:
    """Say where the app that `make` gives is served, also to `begun`, until interrupted; `err` as by signals."""
    with stopped_by_signals(err=err) as stop_requested:
        with starting(settings):
            app = make(settings)
        server = _bound(app, settings, host, port, threads)
        try:
            url = f"http://{shown(host)}:{server.effective_port}"
            click.echo(f"Fencepost is at {url} (data in {settings.data}); Ctrl+C stops it")
            sys.stdout.flush()
            begun(url)
            if not stop_requested.is_set():
                server.run()  # waitress ends by itself if the signal comes while it serves
        finally:
            server.close()


def _bound(app: WSGIApplication, settings: Settings, host: str, port: int, threads: int):  # type: ignore[no-untyped-def]
    """A waitress server that is bound and not yet running: waitress brings no types.

    It reads a body before the app is asked, so one of no route may be larger than the largest upload.
    """
    from waitress import create_server

    try:
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
    except (OSError, ValueError) as error:  # ValueError: waitress knows no such host
        reason = getattr(error, "strerror", None) or error
        raise click.UsageError(f"cannot listen on {host}:{port}: {reason}; try another PORT or HOST") from error


@contextmanager
def stopped_by_signals(*, err: bool = False) -> Iterator[Event]:
    """SIGTERM and Ctrl+C interrupt what runs within, which then has ended as it should; what is given says so, too.

    Libraries and destructors may swallow the interruption, so whoever is about to wait for long looks at the event
    first. With `err` it says so on standard error.
    """
    stop_requested = Event()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        stop_requested.set()
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupt)
    with suppress(KeyboardInterrupt):
        yield stop_requested
    click.echo("stopped", err=err)

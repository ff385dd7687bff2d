"""How servers and workers start, or end in words where a setting names what is not there; and how they are stopped."""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

import click

from webapp.config import BadSetting, Settings

if TYPE_CHECKING:
    from flask import Flask

_HOST = re.compile(r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")


def check(settings: Settings) -> None:
    """Exits with 2 where a setting has to be changed, with 1 where what it names cannot be used now."""
    for host in settings.trusted_hosts:
        if not _HOST.fullmatch(host.encode("idna").decode() if host.isprintable() and not host.isascii() else host):
            raise click.UsageError(f"FENCEPOST_TRUSTED_HOSTS takes host names such as logs.example.org, not {host!r}")
    _check_home(settings.home)
    _check_data(settings)
    _check_store(settings)


def _check_home(name: str) -> None:
    from webapp.parsing import UnknownProfile, profile
    from webapp.store.write.parser import UNKNOWN

    if name == UNKNOWN:
        return
    try:
        profile(name)
    except UnknownProfile as error:
        raise click.UsageError(f"FENCEPOST_HOME: {error.args[0]}") from None


def spool_beside(settings: Settings) -> None:
    """Have bodies and other large files buffered on the data folder's disk: /tmp may be small, or memory."""
    from webapp.store.ingest import dump_files

    settings.data.mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = str(dump_files.incoming(settings.data))


def _check_data(settings: Settings) -> None:
    try:
        spool_beside(settings)
        tempfile.TemporaryFile().close()
    except OSError as error:
        raise click.ClickException(unusable_data(settings, error)) from None


def unusable_data(settings: Settings, error: OSError) -> str:
    place = error.filename or settings.data
    return (
        f"FENCEPOST_DATA: the data folder cannot be used: {error.strerror or error}: {place}."
        f" Let the server's user read and write {settings.data}, or name another folder."
    )


def _check_store(settings: Settings) -> None:
    if settings.store is None:
        return
    from webapp.store.files import StoreUnreachable, file_store

    try:
        file_store(settings).find("dumps")
    except StoreUnreachable as error:
        raise click.ClickException(f"{error}. Check its address and credentials, or unset FENCEPOST_STORE.") from None


def app(settings: Settings) -> Flask:
    """The app; what keeps it from starting is said in words, with the exit codes of `check`."""
    import sqlalchemy as sa

    from webapp.app import create_app
    from webapp.commands import _store
    from webapp.store.db.database import NewerDatabase

    _store.connect(settings).dispose()  # says what is wrong with the URL, where anything is
    try:
        return create_app(settings)
    except BadSetting as error:
        raise click.UsageError(str(error)) from error
    except NewerDatabase as error:
        raise click.ClickException(str(error)) from error
    except sa.exc.DatabaseError as error:
        raise click.ClickException(_store.unusable_database(error)) from error
    except OSError as error:
        raise click.ClickException(unusable_data(settings, error)) from None


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

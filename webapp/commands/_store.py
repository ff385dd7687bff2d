"""What commands on the database share: settings, a migrated engine, errors in words, the list's filters as options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import wraps
from typing import Any, TypeVar, cast

import click
import sqlalchemy as sa
from sqlalchemy import orm

from webapp.capture import specs
from webapp.commands import _arguments
from webapp.config import Settings
from webapp.dumps.messages import declarations
from webapp.findings import own
from webapp.installation import install_extra
from webapp.store.db import database
from webapp.store.sessions.filters import DESCRIBED, SWITCHES, of_parameters


def settings() -> Settings:
    """The settings from the environment. Raises `BadSetting`, `BadSpec`, `BadTools` and `BadFindings`."""
    made = Settings.from_environment()
    specs.schemas()
    declarations.configured()
    own.configured()
    return made


def connect(of: Settings) -> sa.Engine:
    """The database as it is, not asked yet. Exits with 2 where its URL is none or its driver is not installed."""
    try:
        return database.connect(of.database, durable=of.durable, pool=of.pool)
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "psycopg":
            raise click.UsageError(f"FENCEPOST_DATABASE needs psycopg: {install_extra('postgres')}") from None
        reason = f"{error}; it takes sqlite:///… or postgresql+psycopg://user:password@host/name"
        raise click.UsageError(f"FENCEPOST_DATABASE is not a usable database URL: {reason}") from None
    except OSError as error:
        raise click.ClickException(f"cannot make the database's folder: {error}") from None


@contextmanager
def engine(of: Settings, *, migrate: bool = True) -> Iterator[sa.Engine]:
    """The database, at the newest revision. Exits with 2 where its URL is none, with 1 where it cannot be used."""
    opened = connect(of)
    try:
        if migrate:
            database.migrate(opened)
        yield opened
    except (sa.exc.IntegrityError, sa.exc.ProgrammingError):
        raise  # a fault of ours
    except sa.exc.DatabaseError as error:
        raise click.ClickException(unusable_database(error)) from None
    finally:
        opened.dispose()


@contextmanager
def session(url: str | None = None) -> Iterator[orm.Session]:
    """A session of the database that the settings name, or of another."""
    of = settings()
    with engine(of if url is None else replace(of, database=url)) as opened, orm.Session(opened) as db:
        yield db


def unusable_database(error: sa.exc.DatabaseError) -> str:
    """What the database answered, and the setting that names it."""
    return f"the database cannot be used: {error.orig} (FENCEPOST_DATABASE; unset, it is a file in FENCEPOST_DATA)"


def print_pieces(pieces: Iterator[bytes]) -> None:
    """Print `pieces` as bytes, each as soon as it is made; a reader that stops early ends the command quietly."""
    try:
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
    finally:
        if isinstance(pieces, Generator):
            pieces.close()  # while the database that it reads is still open


_TIMES = frozenset(("since", "until"))
_OPTIONS = {name: described for name, described in DESCRIBED.items() if name != "sort"}
_Command = TypeVar("_Command", bound=Callable[..., Any])


def filter_options(command: _Command) -> _Command:
    """Add an option for each filter; the command gets them as `filters`, None where none was given.

    Times may be so long ago as 30m, 2d or 4w say. Raises `BadFilter`.
    """

    @wraps(command)
    def with_filters(**given: Any) -> Any:
        options = {name: given.pop(f"filter_{name}") for name in _OPTIONS}
        parameters = {name: "1" if value is True else value for name, value in options.items() if value}
        for name in parameters.keys() & _TIMES:
            moment = _arguments.time_ago(parameters[name], datetime.now(UTC))
            parameters[name] = moment.isoformat() if moment else parameters[name]
        return command(filters=of_parameters(parameters) if parameters else None, **given)

    for name, described in reversed(_OPTIONS.items()):
        extra: dict[str, Any] = {"is_flag": True} if name in SWITCHES else {"metavar": "TEXT"}
        if name == "contract":  # alone, it means any broken one
            extra |= {"is_flag": False, "flag_value": "broken"}
        values = f": {', '.join(described.takes)}" if described.takes else ""
        ago = "; or a time ago, such as 30m or 2d" if name in _TIMES else ""
        text = f"{described.about[0].upper()}{described.about[1:]}{values}{ago}."
        with_filters = click.option(f"--{name}", f"filter_{name}", help=text, **extra)(with_filters)
    return cast(_Command, with_filters)

"""What the commands that use the database share: settings, an open and migrated engine, errors in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import click
import sqlalchemy as sa

from webapp import jsontext
from webapp.config import BadSetting, Settings
from webapp.store import database


def settings() -> Settings:
    """The settings from the environment; a usage error (exit 2) where one cannot be read."""
    try:
        return Settings.from_environment()
    except BadSetting as bad:
        raise click.UsageError(str(bad)) from None


@contextmanager
def engine(of: Settings, *, migrate: bool = True) -> Iterator[sa.Engine]:
    """The database, at the newest revision. Exits with 2 where its URL is none, with 1 where it cannot be used."""
    try:
        opened = database.connect(of.database)
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ModuleNotFoundError) as error:
        raise click.UsageError(f"FENCEPOST_DATABASE is no database URL that can be used: {error}") from None
    except OSError as error:
        raise click.ClickException(f"cannot make the database's folder: {error}") from None
    try:
        if migrate:
            database.migrate(opened)
        yield opened
    except (database.NewerDatabase, sa.exc.OperationalError) as error:
        raise click.ClickException(str(getattr(error, "orig", None) or error)) from None
    finally:
        opened.dispose()


def print_json(document: Any) -> None:
    """One JSON document; dataclasses as objects, times as ISO 8601."""
    click.echo(jsontext.dumps(_plain(document)))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime) else value

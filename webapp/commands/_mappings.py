"""`fencepost ingest --map` and `--save-map`: mappings from the command line, and saved ones by their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import sqlalchemy as sa

from webapp.commands import _store
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import mapped
from webapp.store.jobs import mappings


def mapping(settings: Settings, options: Sequence[str]) -> dict[str, str]:
    """The fields that FIELD=PATH arguments name, over those of a saved mapping where one argument is its NAME.

    A usage error (exit 2) for more than one name, a name that is not saved, and what is no mapping.
    """
    names = [argument for argument in options if "=" not in argument]
    if len(names) > 1:
        raise click.UsageError(f"--map takes FIELD=PATH, and the name of one saved mapping, not {names[1]!r} too")
    fields = _saved(settings, names[0]) if names else {}
    fields |= {field: path for field, _, path in (argument.partition("=") for argument in options) if path}
    with _store.in_words():
        mapped(fields)
    return fields


def _saved(settings: Settings, name: str) -> dict[str, str]:
    unknown = click.UsageError(f"--map takes FIELD=PATH, or the name of a saved mapping, and none is called {name!r}")
    if not _exists(settings):
        raise unknown
    with _store.engine(settings, migrate=False) as engine:
        if database.revision(engine) != database.HEAD:
            raise unknown
        with engine.connect() as connection:
            try:
                return dict(mappings.named(connection, name).fields)
            except mappings.NoSuchMapping:
                raise unknown from None


def _exists(settings: Settings) -> bool:
    """Whether there is a database, so that asking makes none."""
    url = sa.make_url(settings.database)
    return url.get_backend_name() != "sqlite" or (url.database is not None and Path(url.database).exists())

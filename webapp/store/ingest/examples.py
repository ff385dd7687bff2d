"""Loads the example sessions that ship with Fencepost."""

from __future__ import annotations

import sqlalchemy as sa

from webapp import paths
from webapp.config import Settings
from webapp.store.ingest.start import ingest


def load(engine: sa.Engine, settings: Settings) -> None:
    """Ingest every example; those that are stored already change nothing."""
    for path in sorted(paths.resource("examples").glob("*.json*")):
        with path.open("rb") as stream:
            ingest(engine, settings, stream, filename=path.name)

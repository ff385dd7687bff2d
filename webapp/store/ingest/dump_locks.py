"""One process at a time reads a dump: on PostgreSQL whichever machine it is on, on SQLite those of the data folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.db import locks
from webapp.store.ingest import dump_files

_LOOK = 0.1
"""seconds between two looks whether somebody else still reads a dump"""


def alone(engine: sa.Engine, settings: Settings, sha256: str) -> AbstractContextManager[bool]:
    """Hold the lock on one dump without waiting; False where another process holds it. A killed one lets go of it."""
    if engine.dialect.name == "postgresql":
        return locks.alone(engine, f"dump {sha256}")
    return dump_files.alone(settings.data, sha256)


@contextmanager
def reading(
    engine: sa.Engine, settings: Settings, sha256: str, on_wait: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Hold the lock on one dump; who comes second waits, and `on_wait` is called meanwhile, which may raise."""
    while True:
        with alone(engine, settings, sha256) as is_mine:
            if is_mine:
                yield
                return
        on_wait()
        time.sleep(_LOOK)

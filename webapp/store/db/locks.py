"""Locks of the whole database, for what one process at a time does, on whichever machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

_SPACE = 0x46504C4B
"""an arbitrary number of our own, the first of the two that name one of PostgreSQL's advisory locks"""


@contextmanager
def alone(engine: sa.Engine, name: str) -> Iterator[bool]:
    """Hold the lock `name` without waiting; False where another process holds it. It goes with its connection.

    On SQLite, whose workers have a lock of the data folder, always True.
    """
    if engine.dialect.name != "postgresql":
        yield True
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        key = sa.func.hashtext(name)
        is_mine = bool(connection.scalar(sa.select(sa.func.pg_try_advisory_lock(_SPACE, key))))
        try:
            yield is_mine
        finally:
            if is_mine:
                connection.execute(sa.select(sa.func.pg_advisory_unlock(_SPACE, key)))

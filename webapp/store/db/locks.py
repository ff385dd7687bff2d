"""Locks across processes: each goes with the process that holds it, however that ends.

On PostgreSQL they are advisory locks of the database, which all machines see; else locked files of the data folder.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_SPACE = 0x46504C4B
"""an arbitrary number of our own, the first of the two that name one of PostgreSQL's advisory locks"""
_LOOK = 0.1
"""seconds between two looks whether somebody else still holds a lock, and whether to wait on"""


@contextmanager
def hold(engine: sa.Engine, data: Path, name: str) -> Iterator[bool]:
    """Hold the lock `name` (a dump's hash, "task-7") without waiting; False where another process or thread does."""
    if engine.dialect.name != "postgresql":
        with hold_file(data, name) as is_mine:
            yield is_mine
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.detach()  # its place in the pool is free for whoever works under the lock
        key = sa.func.hashtext(name)
        is_mine = bool(connection.scalar(sa.select(sa.func.pg_try_advisory_lock(_SPACE, key))))
        try:
            yield is_mine
        finally:
            if is_mine:
                connection.execute(sa.select(sa.func.pg_advisory_unlock(_SPACE, key)))


@contextmanager
def wait_for(engine: sa.Engine, data: Path, name: str, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock `name`; who comes second waits, and `on_wait` is called meanwhile, which may raise."""
    while True:
        with hold(engine, data, name) as is_mine:
            if is_mine:
                yield
                return
        on_wait()
        time.sleep(_LOOK)


@contextmanager
def hold_file(data: Path, name: str) -> Iterator[bool]:
    """Hold the lock `name` of this data folder alone, whatever the database is; False where another process does."""
    folder = data / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.lock"
    if (handle := _taken(path)) is None:
        yield False
        return
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _taken(path: Path) -> int | None:
    """A handle that holds the lock, None where another one does."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if lock(handle) and _is_current(handle, path):
        return handle
    os.close(handle)
    return None


def _is_current(handle: int, path: Path) -> bool:
    """Whether the locked file is still the one at `path`: who held it before removes it."""
    try:
        return os.fstat(handle).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def lock(handle: int) -> bool:
    """Lock an open file without waiting; False where another handle has it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True

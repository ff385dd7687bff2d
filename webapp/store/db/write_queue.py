"""Lets short writes in between the transactions of a long one, on SQLite, whose write lock has no queue.

Who waits for the lock looks every tenth of a second, and would seldom find it free beside an import that takes it again
at once. So each that waits holds a shared lock on the database's folder meanwhile, and who writes for long looks at
that lock between two transactions, and rests until those who wait had their turn.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

if sys.platform != "win32":
    import fcntl

LONGEST_REST = 0.3
"""seconds that a long writer rests for others; who waits looks at SQLite's lock every tenth of a second"""
_SHORT_REST = 0.025
"""seconds, where nothing says whether somebody waits: on Windows, or on a file system without locks"""
_LOOK = 0.005
_LONG = "fencepost_long_writer"


def announce(engine: sa.Engine) -> None:
    """Have every statement of a SQLite `engine` that may wait for the write lock say so while it does."""
    if (folder := _folder(engine)) is None:
        return

    def run(method: str, cursor: Any, statement: str, *parameters_and_context: Any) -> bool:
        *parameters, context = parameters_and_context
        if not _may_wait(cursor, statement, context):
            return False
        with _waiting(folder):
            getattr(cursor, method)(statement, *parameters)
        return True

    sa.event.listen(engine, "do_execute", partial(run, "execute"))
    sa.event.listen(engine, "do_execute_no_params", partial(run, "execute"))
    sa.event.listen(engine, "do_executemany", partial(run, "executemany"))


def mark_long(connection: sa.Connection) -> None:
    """Say that this is one of many transactions in a row: it waits like others, but nobody rests for it."""
    connection.execution_options(**{_LONG: True})


def let_in(engine: sa.Engine) -> None:
    """Rest, between two transactions on SQLite, until nobody waits or `LONGEST_REST` is over."""
    if (folder := _folder(engine)) is None:
        if engine.dialect.name == "sqlite":
            time.sleep(_SHORT_REST)
        return
    until = time.monotonic() + LONGEST_REST
    while (awaited := _is_awaited(folder)) and time.monotonic() < until:
        time.sleep(_LOOK)
    if awaited is None:
        time.sleep(_SHORT_REST)


def _folder(engine: sa.Engine) -> Path | None:
    """Where those who wait hold a lock; None for databases that are no file, and without such locks."""
    name = engine.url.database
    if engine.dialect.name != "sqlite" or sys.platform == "win32" or not name or name == ":memory:":
        return None
    return Path(name).parent


def _may_wait(cursor: Any, statement: str, context: Any) -> bool:
    """Whether it begins a transaction that writes: sqlite3 itself begins one before such a statement."""
    if cursor.connection.in_transaction or context.execution_options.get(_LONG):
        return False
    return statement[:6].upper() in ("BEGIN ", "INSERT", "UPDATE", "DELETE")


@contextmanager
def _waiting(folder: Path) -> Iterator[None]:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # the statement itself says in words what is wrong
        yield
        return
    try:
        if _lock(handle, fcntl.LOCK_SH):  # somebody looks at it just now
            time.sleep(_LOOK)
            _lock(handle, fcntl.LOCK_SH)
        yield
    finally:
        _lock(handle, fcntl.LOCK_UN)  # a fork may hold the handle, too
        os.close(handle)


def _is_awaited(folder: Path) -> bool | None:
    """None where the file system has no locks."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        return _lock(handle, fcntl.LOCK_EX)
    finally:
        os.close(handle)


def _lock(handle: int, kind: int) -> bool | None:
    """True if somebody else holds it, False if it could be had, None where there are no locks."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False

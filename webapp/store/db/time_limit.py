"""Ends a question to the database that takes too long: rows are never late, and what was cut off says so."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

_STEPS = 2_000
"""of SQLite's machine between two looks at the clock: some tens of microseconds"""


class TookTooLong(Exception):
    """The time was over before the answer was there."""


@contextmanager
def within(connection: sa.Connection, seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` from what asks in the block for longer than that, together; the transaction goes on."""
    limited = _within_sqlite if connection.dialect.name == "sqlite" else _within_postgresql
    try:
        with limited(connection, seconds):
            yield
    except sa.exc.OperationalError as error:
        if not _is_ours(error.orig):
            raise
        raise TookTooLong from None


def _is_ours(error: BaseException | None) -> bool:
    if isinstance(error, sqlite3.Error):
        return error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT
    return getattr(error, "sqlstate", None) == "57014"  # query_canceled


@contextmanager
def _within_sqlite(connection: sa.Connection, seconds: float) -> Iterator[None]:
    driver, ends = connection.connection.driver_connection, time.monotonic() + seconds
    assert isinstance(driver, sqlite3.Connection)
    driver.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
    try:
        yield
    finally:
        driver.set_progress_handler(None, 0)


@contextmanager
def _within_postgresql(connection: sa.Connection, seconds: float) -> Iterator[None]:
    """Each statement gets what is left of the time; behind a savepoint, or the first that is cut ends all."""
    ends = time.monotonic() + seconds

    def set_timeout(*_: object) -> None:
        milliseconds = round(1000 * (ends - time.monotonic()))
        if milliseconds < 1:
            raise TookTooLong
        connection.connection.cursor().execute(f"SET LOCAL statement_timeout = {milliseconds}")

    with connection.begin_nested():
        sa.event.listen(connection, "before_cursor_execute", set_timeout)
        try:
            yield
        finally:
            sa.event.remove(connection, "before_cursor_execute", set_timeout)
        connection.exec_driver_sql("SET LOCAL statement_timeout = DEFAULT")

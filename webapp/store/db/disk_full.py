"""A full disk in one exception, whoever met it: the system, SQLite or PostgreSQL."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SQLITE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
_POSTGRES = ("53100",)
CODE = "disk_full"
WORDS = "The disk is full. Make room in the data folder, then send or read the file again; what was stored stays."


class DiskFull(RuntimeError):
    """Nothing more can be written; what was stored before is whole."""

    def __init__(self) -> None:
        super().__init__(WORDS)


def is_full(error: BaseException) -> bool:
    """Whether `error` says that the disk, or a quota on it, has no room."""
    if isinstance(error, sa.exc.DBAPIError) and error.orig is not None:
        error = error.orig
    code = getattr(error, "sqlite_errorcode", None)
    state = getattr(error, "sqlstate", None)
    return getattr(error, "errno", None) in _ERRNOS or code in _SQLITE or state in _POSTGRES


@contextmanager
def in_words() -> Iterator[None]:
    """Raises `DiskFull` in place of what said so."""
    try:
        yield
    except (OSError, sa.exc.DBAPIError) as error:
        if is_full(error):
            raise DiskFull from error
        raise

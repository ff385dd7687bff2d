"""Copies a SQLite database whole while others write it, and checks the copy."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

_PAGES = 2000
"""database pages that are copied while writers wait, 16 MB"""


class NotSqlite(ValueError):
    """The database is on a server, which has its own way of backing up; the message names it."""


class BadCopy(RuntimeError):
    """The copy does not hold together, or the disk is full; it was removed."""


def copy(engine: sa.Engine, target: Path, on_progress: Callable[[int, int], None] = lambda *_: None) -> int:
    """Write the database to the new file `target`, its owner's alone; returns its bytes.

    It is written beside `target` first and takes that name when it was checked (`PRAGMA integrity_check`). Raises
    `NotSqlite`, `BadCopy` and `FileExistsError`. `on_progress` hears the pages that were copied, and of how many.
    """
    if engine.dialect.name != "sqlite" or not engine.url.database:
        raise NotSqlite("this copies SQLite only; use pg_dump for PostgreSQL")
    if target.exists():
        raise FileExistsError(f"{target} is there already, and backups are not written over")
    draft = target.with_name(f"{target.name}.{os.getpid()}.part")
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        _copy(Path(engine.url.database), draft, on_progress)
        os.link(draft, target)
    except sqlite3.Error as error:
        raise BadCopy(str(error)) from error
    finally:
        draft.unlink()
    return target.stat().st_size


def _copy(source: Path, draft: Path, on_progress: Callable[[int, int], None]) -> None:
    with closing(sqlite3.connect(source)) as stock, closing(sqlite3.connect(draft)) as copied:
        stock.backup(copied, pages=_PAGES, progress=lambda _, rest, total: on_progress(total - rest, total))
        (result,) = copied.execute("PRAGMA integrity_check(1)").fetchone()
        if result != "ok":
            raise BadCopy(f"the copy is damaged: {result}")
        copied.execute("PRAGMA journal_mode=DELETE")  # one file, nothing beside it

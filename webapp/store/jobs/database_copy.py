"""Copies of a database: SQLite's file whole while others write it, or all rows into an empty one of either kind."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from webapp.refusals import NotPossible, WrongUse
from webapp.store import derive
from webapp.store.db import database, dialect, types
from webapp.store.models import Base

OnProgress = Callable[[str, int, int], None]
"""hears what is being done, and how many of how many rows or sessions of that are finished"""

_ROWS = 500
"""rows that are held at once; of 2 KB each, a megabyte"""


class NotCopied(NotPossible):
    """The one database cannot be copied into the other; the message says what to do."""


def copy(source: sa.Engine, target: sa.Engine, on_progress: OnProgress = lambda *_: None) -> dict[str, int]:
    """Copy `source`, as it is at one moment, into the empty `target`, in one transaction; the rows of each table.

    Raises `NotCopied`. Sessions are derived behind it; `fencepost db reindex` does that where this was interrupted.
    """
    current = database.revision(source)
    if current != database.HEAD:
        raise NotCopied(
            f"the database to copy is at revision {current or 'none'}, and the newest is {database.HEAD}: "
            "run fencepost db migrate with FENCEPOST_DATABASE set to it first"
        )
    if database.revision(target) not in (None, database.HEAD):
        raise NotCopied("the target is at another revision: name a database that is empty")
    database.migrate(target)
    tables = Base.metadata.sorted_tables
    with source.connect() as reading, database.writing(target) as writing:
        dialect.begin_snapshot(reading)
        _refuse_rows(writing)
        copies = {table.name: _copy_rows(reading, writing, table, on_progress) for table in tables}
        _set_sequences(writing)
        derive.rebuild(writing)
    derive.reindex(target, on_progress=lambda finished, total: on_progress("search index", finished, total))
    return copies


def _refuse_rows(target: sa.Connection) -> None:
    for table in Base.metadata.sorted_tables:
        if target.scalar(sa.select(sa.exists().select_from(table))):
            raise NotCopied(f"the target has rows in its table {table.name!r}: name a database that is empty")


def _copy_rows(source: sa.Connection, target: sa.Connection, table: sa.Table, on_progress: OnProgress) -> int:
    """How many rows the table has, all of which the target then has."""
    total = source.scalar(sa.select(sa.func.count()).select_from(table)) or 0
    plain = types.plain(table)
    finished = 0
    on_progress(table.name, finished, total)
    query = sa.select(plain).order_by(*(plain.c[key.name] for key in table.primary_key))
    with source.execution_options(yield_per=_ROWS).execute(query) as rows:
        for batch in rows.mappings().partitions():
            target.execute(plain.insert(), [dict(row) for row in batch])
            finished += len(batch)
            on_progress(table.name, finished, total)
    return finished


def _set_sequences(target: sa.Connection) -> None:
    """Let PostgreSQL's sequences go on behind the ids that were copied; SQLite looks for the highest itself."""
    if target.dialect.name != "postgresql":
        return
    for table in Base.metadata.sorted_tables:
        (key, *more_columns) = table.primary_key
        if more_columns or not isinstance(key.type, sa.Integer):
            continue
        highest = target.scalar(sa.select(sa.func.max(key)))
        sequence = target.scalar(sa.select(sa.func.pg_get_serial_sequence(table.name, key.name)))
        if sequence and highest:
            target.execute(sa.select(sa.func.setval(sequence, highest)))


_PAGES = 2000
"""database pages that are copied while writers wait, 16 MB"""


class NotSqlite(WrongUse):
    """The database is on a server, which has its own way of backing up; the message names it."""


class BadCopy(NotPossible):
    """The copy does not hold together, or the disk is full; it was removed."""


def back_up(engine: sa.Engine, target: Path, on_progress: Callable[[int, int], None] = lambda *_: None) -> int:
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
        _back_up(Path(engine.url.database), draft, on_progress)
        os.link(draft, target)
    except sqlite3.Error as error:
        raise BadCopy(str(error)) from error
    finally:
        draft.unlink()
    return target.stat().st_size


def _back_up(source: Path, draft: Path, on_progress: Callable[[int, int], None]) -> None:
    with closing(sqlite3.connect(source)) as stock, closing(sqlite3.connect(draft)) as copied:
        stock.backup(copied, pages=_PAGES, progress=lambda _, rest, total: on_progress(total - rest, total))
        (result,) = copied.execute("PRAGMA integrity_check(1)").fetchone()
        if result != "ok":
            raise BadCopy(f"the copy is damaged: {result}")
        copied.execute("PRAGMA journal_mode=DELETE")  # one file, nothing beside it

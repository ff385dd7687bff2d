"""Gathers a long new session in a file of its own, so that the database is locked only while its rows are copied.

SQLite has one writer: whoever labels or sends spans would otherwise wait until the last turn of the session is parsed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from webapp.store import preparing, rows, search, writing
from webapp.store.models import TURNS_A_SESSION
from webapp.store.preparing import Given, Prepared

_TABLES: dict[str, tuple[str, ...]] = {
    rows.turns.name: rows.TURN,
    rows.parses.name: rows.PARSE,
    rows.repairs.name: rows.REPAIR,
    "search_raw": ("raw",),
    "search_note": ("text",),
}
_MOVED = ("id", "turn_id", "duplicate_of", "rowid")
"""columns that hold a turn's id"""
_PRAGMAS = ("page_size=8192", "journal_mode=OFF", "synchronous=OFF", "cache_size=-6000")


class Stage:
    """A session in a file, whose turns have their ordinals for ids."""

    def __init__(self, path: Path, prepared: Prepared, count: int) -> None:
        self._path = path
        self._prepared = prepared
        self._count = count
        self.problems = prepared.problems

    @contextmanager
    def attached(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        """A transaction of the database, beside which the file can be read."""
        with engine.connect() as connection:
            connection.exec_driver_sql("ATTACH DATABASE ? AS stage", (str(self._path),))
            connection.commit()
            try:
                with connection.begin():
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                    yield connection
            finally:
                connection.exec_driver_sql("DETACH DATABASE stage")

    def copy(self, connection: sa.Connection, dump_id: Callable[[sa.Connection], int]) -> writing.Outcome | None:
        """Store the session; None where one of that id is there. The caller commits."""
        notes = search.Pending()
        (outcome,) = writing.write_new(connection, [self._prepared], dump_id=dump_id, index=notes)
        if outcome is None:
            return None
        for table, names in _TABLES.items():
            _copy(connection, table, names, outcome.id)
        return replace(outcome, new_turns=self._count)


@contextmanager
def staged(folder: Path, given: Given) -> Iterator[Stage]:
    """Gather `given`, whose turns may be any number, in a file in `folder` that is there as long as this lasts."""
    handle, name = tempfile.mkstemp(prefix="stage-", dir=folder)
    os.close(handle)
    try:
        engine = sa.create_engine(f"sqlite:///{name}", poolclass=sa.pool.StaticPool)
        try:
            with engine.begin() as connection:
                stage = _gathered(connection, Path(name), given)
        finally:
            engine.dispose()
        yield stage
    finally:
        Path(name).unlink(missing_ok=True)


def _gathered(connection: sa.Connection, path: Path, given: Given) -> Stage:
    for pragma in _PRAGMAS:
        connection.exec_driver_sql(f"PRAGMA {pragma}")
    for table, names in _TABLES.items():
        key = [f"{name} INTEGER PRIMARY KEY" if name == "id" else name for name in names]
        connection.exec_driver_sql(f"CREATE TABLE {table} ({', '.join(key)})")
    gathering, problems = preparing.begin(given)
    count = writing.Appender(connection, gathering).append(given.turns)
    return Stage(path, preparing.end(given, gathering, problems), count)


def _copy(connection: sa.Connection, table: str, names: tuple[str, ...], session_id: int) -> None:
    """Copy a table's rows, their turns' ids moved to where the session's begin."""
    base = session_id * TURNS_A_SESSION
    if table.startswith("search_"):
        names = ("rowid", *names)
    if table == "search_note":
        base *= search.SLOTS
    values = [str(session_id) if name == "session_id" else _moved(name, base) for name in names]
    into, order = ", ".join(names), "id" if "id" in names else "rowid"
    select = f"SELECT {', '.join(values)} FROM stage.{table} ORDER BY {order}"  # noqa: S608 - our own names, and numbers
    connection.exec_driver_sql(f"INSERT INTO main.{table} ({into}) {select}")


def _moved(name: str, base: int) -> str:
    return f"{name} + {base}" if name in _MOVED else name

"""The tables of a SQLite file, read only, from a private copy: no view, trigger, function or computed column runs.

What its pages make us compute is of the file's budget: no cell is larger than an item, no table larger than the file
(pages can lead to each other), and who reads it stops when its processor time is used up.
"""

from __future__ import annotations

import base64
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from webapp.dumps import decoding
from webapp.dumps.budget import PIECE, BadDump, Budget, TooLarge
from webapp.dumps.json_path import at
from webapp.dumps.records import Problem
from webapp.dumps.sessions import spilled
from webapp.dumps.source import Source

_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}


_MOST_TABLES = 60
_MOST_FILLED = 4 * 1024**3
_STEPS = 10_000
"""of SQLite's machine, after each of which it is asked whether there is time"""
_STORED = 0
"""what `table_xinfo` says of a column that is no computed one"""


def look(source: Source, samples: int) -> tuple[list[str], dict[str, list[Any]], Problem | None]:
    """The names of the tables and the first rows of each, as far as they go; where there is none, what is damaged."""
    names, items, damage = list[str](), dict[str, list[Any]](), None
    try:
        with opened_tables(source) as tables:
            names, budget = tables.names, replace(source.budget, out=0, most=source.budget.characters())
            for name in names[:_MOST_TABLES]:
                with suppress(sqlite3.Error):
                    items[name] = []
                    for row in islice(tables.rows(name), samples):
                        budget.take(_size(row.values()), name)
                        items[name].append(opened(row))
    except BadDump as bad:
        damage = Problem(bad.at, bad.reason)
    if source.problem is not None:
        cut = source.problem.reason.partition(";")[0]
        damage = Problem(source.problem.at, f"{cut}, and none of its tables can be read")
    return names, items, None if names else damage


class Tables:
    """A database's real tables and what their rows hold."""

    def __init__(self, connection: sqlite3.Connection, source: Source) -> None:
        self._connection, self._source = connection, source
        self._measured = set[str]()
        rows = connection.execute(_TABLES).fetchall()
        self.names = [name for name, sql in rows if not str(sql).upper().startswith("CREATE VIRTUAL")]

    def columns(self, table: str) -> list[str]:
        """The stored columns of a table; none where there is no such table. Computed ones become a problem."""
        if table not in self.names:
            return []
        query = f"PRAGMA table_xinfo({_quoted(table)})"
        kinds = {name: hidden for _, name, _, _, _, _, hidden in self._connection.execute(query)}
        if computed := [name for name, hidden in kinds.items() if hidden != _STORED]:
            reason = f"computed by the file itself, and left out: {', '.join(computed)[:200]}"
            self._source.problem = self._source.problem or Problem(f"table {table}", reason)
        return [name for name, hidden in kinds.items() if hidden == _STORED]

    def rows(self, table: str, *order: str, **values: str) -> Iterator[dict[str, Any]]:
        """The rows of a table in the order of these columns, with these values in others; none where it lacks one.

        Bytes stay bytes.
        """
        columns = self.columns(table)
        if not columns or values.keys() - set(columns):
            return
        where = " AND ".join(f"{_quoted(column)} = ?" for column in values) or "1"
        by = ", ".join(_quoted(column) for column in order if column in columns) or "1"
        column_list = ", ".join(map(_quoted, columns))
        query = f"SELECT {column_list} FROM {_quoted(table)} WHERE {where}"  # noqa: S608 - names of this database
        self._measure(table, column_list)
        count, reason = 0, ""
        for ordered in (f"{query} ORDER BY {by}", query):  # of a damaged table the rows as they lie: to sort needs all
            try:
                for row in self._rows(ordered, table, *values.values()):
                    count += 1
                    yield dict(zip(columns, row, strict=True))
            except sqlite3.DatabaseError as error:
                self._source.budget.check_time(f"table {table}")
                reason = f"the SQLite file is damaged behind row {count:,} ({error}); what came before was read"
            if count or not reason:
                break
        if reason:
            self._source.problem = self._source.problem or Problem(f"table {table}", reason)

    def _rows(self, query: str, table: str, *values: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a query. Raises `TooLarge` where there is no time, `sqlite3.DatabaseError` for damage."""
        return self._source.budget.timed(self._executed(query, values), f"table {table}")

    def _executed(self, query: str, values: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
        yield from self._connection.execute(query, values)

    def _measure(self, table: str, column_list: str) -> None:
        """Pass over a table once, before it is sorted. Raises `TooLarge` where it holds more than its file can."""
        if table in self._measured:
            return
        self._measured.add(table)
        size, most = 0, PIECE + 2 * self._source.file.seek(0, 2)
        with suppress(sqlite3.DatabaseError):  # damage is said when it is read
            for row in self._rows(f"SELECT {column_list} FROM {_quoted(table)}", table):  # noqa: S608
                size += _size(row)
                if size > most:
                    raise TooLarge("a decompression bomb: its rows are more than the file", f"table {table}")
        self._source.budget.check_time(f"table {table}")


@contextmanager
def opened_tables(source: Source) -> Iterator[Tables]:
    """The tables of `source`. Raises `BadDump` where it is no SQLite file, or damaged."""
    source.budget.make_rows()
    with tempfile.TemporaryDirectory(prefix="sqlite-") as folder:
        path = Path(folder) / "copy.db"
        source.file.seek(0)
        with path.open("wb") as copy:
            shutil.copyfileobj(source.file, copy)
            _fill(source, copy)
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
                with source.budget.spending():  # the pages of the schema can lead to each other, too
                    _restrict(connection, source.budget)
                    tables = Tables(connection, source)
                yield tables
        except (sqlite3.Error, UnicodeDecodeError) as error:
            source.budget.check_time("the schema")
            raise BadDump(f"the SQLite file is damaged ({error})", "byte 0") from error


def _fill(source: Source, copy: BinaryIO) -> None:
    """Add the pages that a cut file lacks, as zeros, so that those before them can be read; the cut is a problem."""
    source.file.seek(0)
    header, size = source.file.read(100), copy.tell()
    page = int.from_bytes(header[16:18]) if len(header) == 100 else 0
    whole = (65536 if page == 1 else page) * int.from_bytes(header[28:32])
    if len(header) < 100 or size < whole <= _MOST_FILLED:
        copy.truncate(max(size, whole))
        lost = f"{size:,} of its {whole:,} bytes are there" if whole else f"it ends after {size:,} bytes, in its header"
        reason = f"the SQLite file is cut: {lost}; no more than that can be read"
        source.problem = source.problem or Problem(f"byte {size}", reason)


def _restrict(connection: sqlite3.Connection, budget: Budget) -> None:
    """Nothing but reading: what the file's own schema would run is refused, and what takes too long."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, budget.characters())
    connection.set_progress_handler(budget.is_late, _STEPS)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    connection.set_authorizer(_authorized)


def _authorized(action: int, first: str | None, *_: str | None) -> int:
    is_allowed = action in _ALLOWED or (action == sqlite3.SQLITE_PRAGMA and first == "table_xinfo")
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _size(row: Iterable[Any]) -> int:
    return sum(len(cell) if isinstance(cell, str | bytes) else 1 for cell in row)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as JSON has it: bytes as base64."""
    return {
        key: base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
        for key, value in row.items()
    }


def opened(row: dict[str, Any]) -> dict[str, Any]:
    """As `plain`, with what columns hold as JSON text."""
    return {key: decoding.opened(value) for key, value in plain(row).items()}


def joined_rows(tables: Tables, table: str, spec: dict[str, Any], texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The rows of a table in the `order` of a declared format, with what columns hold as JSON but those that are
    `texts`; `columns` gives those that are taken other names.

    Each has the rows of other tables that name it, its `joins`, in lists of their own.
    """
    with ExitStack() as stack:
        joins = [(join, stack.enter_context(spilled())) for join in spec.get("joins", ())]
        for join, aside in joins:
            for row in joined_rows(tables, join["table"], join, texts):
                aside.put(str(row.get(join["by"])), 0, "", at(row, join.get("entry", "."))[0])
        for row in tables.rows(table, *spec.get("order", ())):
            value = plain(row) if "*" in texts else opened(row) | {name: row[name] for name in texts if name in row}
            if columns := spec.get("columns"):
                value = {name: value.get(column) for name, column in columns.items()}
            keys = ((join["into"], str(row.get(join.get("on", "id"))), aside) for join, aside in joins)
            yield value | {into: [inner for _, inner in aside.of(key)] for into, key, aside in keys}


SQLITE = b"SQLite format 3\0"
_HEADER = 32
"""of what was written ahead: it changes when its program begins it anew"""
_TRIES = 3


@contextmanager
def merged(path: Path) -> Iterator[Path]:
    """The file, or, where rows stand beside it, a copy with them, which is gone afterwards; nothing there is written.
    A link beside it is not followed.

    Raises `BadDump` where they cannot be moved into the copy.
    """
    ahead = path.with_name(f"{path.name}-wal")
    has_rows = ahead.is_file() and not ahead.is_symlink() and ahead.stat().st_size
    if not has_rows or _beginning(path, len(SQLITE)) != SQLITE:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="sqlite-") as folder:
        copy = Path(folder) / "copy.db"
        _copy(path, ahead, copy)
        try:
            with closing(sqlite3.connect(copy)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            reason = f"what stands in {ahead.name} beside it cannot be read ({error}); without that file, this one can"
            raise BadDump(reason, "byte 0") from error
        yield copy


def _copy(path: Path, ahead: Path, copy: Path) -> None:
    """Copy both as they were together. Raises `BadDump` where their program begins anew each time."""
    for _ in range(_TRIES):
        before = _beginning(ahead, _HEADER)
        shutil.copyfile(path, copy)
        shutil.copyfile(ahead, copy.with_name(f"{copy.name}-wal"))
        if _beginning(ahead, _HEADER) == before:
            return
    raise BadDump(f"its program writes to {ahead.name} beside it without a pause; read it again", "byte 0")


def _beginning(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)

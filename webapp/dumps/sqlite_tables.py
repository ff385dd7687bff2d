"""The tables of a SQLite file, read only: from a private copy, without its views, triggers, extensions or functions."""

from __future__ import annotations

import base64
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from webapp.dumps.decoding import json_or_none
from webapp.dumps.records import BadDump, Problem
from webapp.dumps.source import Source

_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}


_MOST_TABLES = 60
_MOST_FILLED = 4 * 1024**3


def look(source: Source, samples: int) -> tuple[list[str], dict[str, list[Any]]]:
    """The names of the tables and the first rows of each; as far as they go where the file is damaged."""
    names, items = list[str](), dict[str, list[Any]]()
    with suppress(BadDump), opened_tables(source) as tables:
        names = tables.names
        for name in names[:_MOST_TABLES]:
            with suppress(sqlite3.Error):
                items[name] = [opened(row) for row in islice(tables.rows(name), samples)]
    return names, items


class Tables:
    """A database's real tables and what their rows hold."""

    def __init__(self, connection: sqlite3.Connection, source: Source) -> None:
        self._connection, self._source = connection, source
        rows = connection.execute(_TABLES).fetchall()
        self.names = [name for name, sql in rows if not str(sql).upper().startswith("CREATE VIRTUAL")]

    def columns(self, table: str) -> list[str]:
        """The columns of a table; none where there is no such table."""
        if table not in self.names:
            return []
        query = f"SELECT * FROM {_quoted(table)} LIMIT 0"  # noqa: S608 - a name of this database, quoted
        return [item[0] for item in self._connection.execute(query).description]

    def rows(self, table: str, *order: str, **values: str) -> Iterator[dict[str, Any]]:
        """The rows of a table in the order of these columns, with these values in others; none where it lacks one.

        Bytes stay bytes.
        """
        columns = self.columns(table)
        if not columns or values.keys() - set(columns):
            return
        where = " AND ".join(f"{_quoted(column)} = ?" for column in values) or "1"
        by = ", ".join(_quoted(column) for column in order if column in columns) or "1"
        query = f"SELECT * FROM {_quoted(table)} WHERE {where}"  # noqa: S608 - names of this database
        count, reason = 0, ""
        for ordered in (f"{query} ORDER BY {by}", query):  # of a damaged table the rows as they lie: to sort needs all
            try:
                for row in self._connection.execute(ordered, tuple(values.values())):
                    count += 1
                    yield dict(zip(columns, row, strict=True))
            except sqlite3.DatabaseError as error:
                reason = f"the SQLite file is damaged behind row {count:,} ({error}); what came before was read"
            if count or not reason:
                break
        if reason:
            self._source.problem = self._source.problem or Problem(f"table {table}", reason)


@contextmanager
def opened_tables(source: Source) -> Iterator[Tables]:
    """The tables of `source`. Raises `BadDump` where it is no SQLite file, or damaged."""
    with tempfile.TemporaryDirectory(prefix="sqlite-") as folder:
        path = Path(folder) / "copy.db"
        source.file.seek(0)
        with path.open("wb") as copy:
            shutil.copyfileobj(source.file, copy)
            _fill(source, copy)
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
                _restrict(connection)
                yield Tables(connection, source)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise BadDump(f"the SQLite file is damaged ({error})", "byte 0") from error


def _fill(source: Source, copy: BinaryIO) -> None:
    """Add the pages that a cut file lacks, as zeros, so that those before them can be read; the cut is a problem."""
    source.file.seek(0)
    header, size = source.file.read(100), copy.tell()
    page = int.from_bytes(header[16:18]) if len(header) == 100 else 0
    whole = (65536 if page == 1 else page) * int.from_bytes(header[28:32])
    if size < whole <= _MOST_FILLED:
        copy.truncate(whole)
        reason = f"the SQLite file is cut: {size:,} of its {whole:,} bytes are there; what could be read was read"
        source.problem = source.problem or Problem(f"byte {size}", reason)


def _restrict(connection: sqlite3.Connection) -> None:
    """Nothing but reading: what the file's own schema would run is refused."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)


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
    return {key: _opened(value) for key, value in plain(row).items()}


def _opened(value: Any) -> Any:
    is_json = isinstance(value, str) and value.lstrip()[:1] in ("{", "[")
    return value if not is_json or (inner := json_or_none(value)) is None else inner

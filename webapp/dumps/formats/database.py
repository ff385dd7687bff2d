"""Any SQLite database one of whose tables holds messages, pairs or bodies: its rows are read as lines of JSON are."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from webapp import jsontext
from webapp.dumps import reading
from webapp.dumps.base import Context, DumpHead, Entry, Format, Source
from webapp.dumps.head import look
from webapp.dumps.known_tools import OWN_TABLES
from webapp.dumps.records import BadDump, Problem, Record, SessionStart, Turn, UnknownFormat
from webapp.dumps.sqlite_tables import opened_tables, plain
from webapp.dumps.text_records import cell_value

_SURE = 4
"""less than of any format that knows whose tables these are"""
_LEAST = 10
"""how sure a format must be of a table's rows: one that reads by the names of keys alone is not"""
_ORDER = ("created_at", "timestamp", "ts", "time", "seq", "sequence", "position", "id", "rowid")


class Database(Format):
    surest = _SURE
    shapes = "any SQLite database one of whose tables holds messages, prompts with answers, or providers' bodies"
    by_key = True

    def sniff(self, head: DumpHead) -> int:
        is_own = head.items.keys() >= OWN_TABLES
        return _SURE if head.shape == "sqlite" and not is_own and _readable(head) else 0

    def read(self, source: Source, head: DumpHead) -> Iterator[Record]:
        readable = _readable(head)
        if not readable:
            raise BadDump("no table of it holds messages, prompts with answers, or bodies", "byte 0")
        _, table, kind = readable[0]
        with tempfile.TemporaryFile() as lines:
            with opened_tables(source) as tables:
                order = [name for name in _ORDER if name in tables.columns(table)][:1]
                lines.writelines(_line(row) for row in tables.rows(table, *order))
            rows = Source(lines, source.filename)
            for record in kind.with_key(self.session_key).read(rows, look(rows)):
                yield Problem(f"table {table}, {record.at}", record.reason) if isinstance(record, Problem) else record
                if isinstance(record, SessionStart) and (said := _said(readable)):
                    yield said
                    readable = []

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        """A database has no entries of its own: its sessions name the format that reads the rows."""
        return (entry for entry in entries if isinstance(entry, Problem))


plugin = Database()


def _line(row: dict[str, Any]) -> bytes:
    """A row as a line of JSON; a column's JSON stays a text where it may be what a model answered."""
    row = {name: jsontext.dumps(cell) if isinstance(cell, dict | list) else cell for name, cell in plain(row).items()}
    row = {name: cell_value(name, cell) if isinstance(cell, str) else cell for name, cell in row.items()}
    return jsontext.dumps(row).encode("ascii") + b"\n"


def _readable(head: DumpHead) -> list[tuple[int, str, Format]]:
    """The tables in whose first rows a format finds answers, and how sure it is of them, the surest first."""
    readable_tables = list[tuple[int, str, Format]]()
    for table, rows in head.items.items():
        source = Source(io.BytesIO(b"".join(map(_line, rows))), head.filename)
        with suppress(UnknownFormat, BadDump):
            beginning = look(source)
            kind = reading.choose(beginning)
            if (sure := kind.sniff(beginning)) >= _LEAST and _answers(kind, source, beginning):
                readable_tables.append((sure, table, kind))
    return sorted(readable_tables, key=lambda each: -each[0])


def _answers(kind: Format, source: Source, head: DumpHead) -> bool:
    """Whether a model says something in these rows: people have roles, too, and servers requests."""
    turns = (record for record in kind.read(source, head) if isinstance(record, Turn))
    return any(turn.kind in ("response", "tool_call") and turn.raw for turn in turns)


def _said(readable: list[tuple[int, str, Format]]) -> Problem | None:
    """Which of several tables was read, and how another is."""
    if len(readable) < 2:
        return None
    other_tables = ", ".join(table for _, table, _ in readable[1:4])
    return Problem(f"table {readable[0][1]}", f"it alone was read; to read another ({other_tables}): --map table=NAME")

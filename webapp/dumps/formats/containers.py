"""What holds other dumps: archives, each of whose members is one, and any SQLite database a table of which is."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from webapp import jsontext
from webapp.dumps import reading
from webapp.dumps.archive_members import ArchiveMember, of_tar, of_zip
from webapp.dumps.base import Context, DumpHead, Entry, Format, SessionKeys, Source
from webapp.dumps.budget import MOST_BYTES, BadDump, Budget, TooLarge
from webapp.dumps.first_look import look
from webapp.dumps.opening import opened
from webapp.dumps.programs import OWN_TABLES
from webapp.dumps.records import Problem, Record, SessionStart, Turn, UnknownFormat
from webapp.dumps.session_keys import of_members
from webapp.dumps.spool import LONGEST_MARK, packed_as, spool
from webapp.dumps.sqlite_tables import Tables, opened_tables, plain
from webapp.dumps.text_records import cell_value

_MOST_AT = 500


class Container(Format):
    """What has no entries of its own: its sessions name the format that reads what it holds."""

    by_key = True

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return (entry for entry in entries if isinstance(entry, Problem))


class Archive(Container):
    called = "archive"
    shapes = "a .zip or .tar of any of these"

    def __init__(self, inner: Format | None = None, within: Budget | None = None) -> None:
        self.inner, self.within = inner, within
        """the format of all members, where one was named; what archives that are members may become, all together"""

    def sniff(self, head: DumpHead) -> int:
        return 60 if head.shape in ("zip", "tar") else 0

    def of(self, inner: Format) -> Archive:
        """This, for members that are all of the format `inner`."""
        return Archive(inner)

    def read(self, source: Source, head: DumpHead) -> Iterator[Record]:
        own = Archive(self.inner, None if source.budget.is_shared else replace(source.budget.anew(), is_shared=True))
        own.session_key = self.session_key
        with tempfile.TemporaryDirectory(prefix="members-") as name:
            folder = Path(name)
            for member in _members(source, head, folder):
                if isinstance(member, Problem):
                    yield member
                else:
                    yield from own._placed(member, folder)

    def keys(self, source: Source, head: DumpHead, most: int | None = None) -> SessionKeys | None:
        """Those of its members, each of which is grouped by keys of its own."""
        member_keys, size = [], 0
        with tempfile.TemporaryDirectory(prefix="members-") as name:
            folder = Path(name)
            for member in _members(source, head, folder, most):
                if isinstance(member, Problem):
                    continue
                size += member.path.stat().st_size
                with suppress(BadDump, UnknownFormat), _unpacked(member, folder, most) as (path, _):
                    keys = self._keys_of(path, member.name)  # what is wrong with it is said when it is read
                    member_keys += [] if keys is None else [(member.name[:_MOST_AT], keys)]
        return of_members(member_keys, cut=most is not None and size >= most)

    def _placed(self, member: ArchiveMember, folder: Path) -> Iterator[Record]:
        """The member's records, its problems under its name; what refuses it as a dump is one of them."""
        name = member.name[:_MOST_AT]
        try:
            with _unpacked(member, folder) as (path, problem):
                for record in chain(problem, self._read(path, member.name)):
                    yield Problem(f"{name}: {record.at}", record.reason) if isinstance(record, Problem) else record
        except TooLarge as bomb:
            raise TooLarge(bomb.reason, f"{name}: {bomb.at}") from bomb
        except BadDump as bad:
            yield Problem(f"{name}: {bad.at}", bad.reason)
        except UnknownFormat as unknown:
            if name.rpartition("/")[2].startswith(".") and not unknown.speaks:  # settings of a program
                return
            yield Problem(name, f"{str(unknown).partition(chr(10))[0]} It was left out.")

    def _read(self, path: Path, name: str) -> Iterator[Record]:
        with opened(path, name) as source:
            head = look(source)
            kind = self._kind(head)
            source.budget = self.within if self.within and isinstance(kind, Archive) else source.budget
            yield from reading.checked(kind, source, head)

    def _keys_of(self, path: Path, name: str) -> SessionKeys | None:
        with opened(path, name) as source:
            head = look(source)
            return self._kind(head).keys(source, head)

    def _kind(self, head: DumpHead) -> Format:
        """The format of a member, by the session key that was told. Raises `BadDump` for archives three deep."""
        kind = self.inner or reading.choose(head)
        if isinstance(kind, Archive) or (head.shape in ("zip", "tar") and not kind.sniff(head)):
            if self.within is None:
                raise BadDump("archives three deep; it was left out (unpack it, and read it alone)", "byte 0")
            kind = Archive(self.inner)
        return kind.with_key(self.session_key)


@contextmanager
def _unpacked(member: ArchiveMember, folder: Path, most: int | None = None) -> Iterator[tuple[Path, list[Problem]]]:
    """A file with what a member holds, up to about `most` bytes, and what is wrong with how it is packed, if it is."""
    with member.path.open("rb") as file:
        if packed_as(file.read(LONGEST_MARK)) is None:
            yield member.path, []
            return
        file.seek(0)
        spooled = spool(file, folder, max_bytes=most or MOST_BYTES, is_beginning=most is not None)
    try:
        yield spooled.path, [spooled.problem] if spooled.problem is not None else []
    finally:
        spooled.path.unlink(missing_ok=True)


def _members(
    source: Source, head: DumpHead, folder: Path, most: int | None = None
) -> Iterator[ArchiveMember | Problem]:
    """One after the other in `folder`, until about `most` bytes came out. Raises `BadDump` where it is no archive."""
    if head.shape not in ("zip", "tar"):
        raise BadDump("neither a zip nor a tar archive", "byte 0")
    return (of_zip if head.shape == "zip" else of_tar)(source, folder, most)


_SURE = 4
"""less than of any format that knows whose tables these are"""
_LEAST = 10
"""how sure a format must be of a table's rows: one that reads by the names of keys alone is not"""
_ORDER = ("created_at", "timestamp", "ts", "time", "seq", "sequence", "position", "id", "rowid")


class Database(Container):
    called = "database"
    surest = _SURE
    shapes = "any SQLite database one of whose tables holds messages, prompts with answers, or providers' bodies"

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
                calls = _calls(tables) if "message" in table.lower() else {}
                lines.writelines(_line(_with_calls(row, calls)) for row in tables.rows(table, *order))
            rows = Source(lines, source.filename)
            for record in kind.with_key(self.session_key).read(rows, look(rows)):
                yield Problem(f"table {table}, {record.at}", record.reason) if isinstance(record, Problem) else record
                if isinstance(record, SessionStart) and (said := _said(readable)):
                    yield said
                    readable = []
            if lost := sum(map(len, calls.values())):
                yield Problem("table tool_calls", f"calls of no message in {table} ({lost}); they were left out")


def _calls(tables: Tables) -> dict[Any, list[dict[str, Any]]]:
    """Calls by the ids of their messages, where a table of its own has them."""
    by_message: dict[Any, list[dict[str, Any]]] = {}
    for call in tables.rows("tool_calls") if "message_id" in tables.columns("tool_calls") else ():
        name, arguments = (call.get(key) or call.get(f"function_{key}") for key in ("name", "arguments"))
        told = {"id": call.get("tool_call_id"), "name": name, "arguments": arguments}
        by_message.setdefault(call["message_id"], []).append(told)
    return by_message


def _with_calls(row: dict[str, Any], calls: dict[Any, list[dict[str, Any]]]) -> dict[str, Any]:
    """A message with its calls, which are then no others'."""
    ident = row.get("id")
    return {**row, "tool_calls": calls.pop(ident)} if ident is not None and ident in calls else row


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


plugins = (Archive(), Database())

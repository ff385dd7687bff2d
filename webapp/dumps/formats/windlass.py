"""Windlass logs: a session dump, its parquet fallback, the later version, or plain JSONL of entries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any, cast

from webapp.dumps.base import Context, DumpHead, Entries, Entry, Format, SessionEntries, Sessions, Source
from webapp.dumps.documents import with_list
from webapp.dumps.entries import id_problem
from webapp.dumps.formats import _windlass
from webapp.dumps.logged_twice import Twins
from webapp.dumps.records import Problem
from webapp.dumps.sessions import each_list, grouped
from webapp.dumps.turn_reader import SidedTurns, TurnReader
from webapp.dumps.values import id_text, text

HOME = "windlass-strict"
_FIRST_FIELDS = {"timestamp", "session_id", "role", "content", "metadata"}
_FIELDS = ("node_type", "cascade_id", "cascade_file", "phase_name", "cell_name", "sounding_index", "take_index")


class Windlass(Format):
    home = HOME
    shapes = 'a Windlass dump {"session_id", "entries": […]} or its entries one a line'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object":
            return _sniff_object(head)
        if head.shape not in ("lines", "array", "parquet"):
            return 0
        each = head.objects and (all(map(_is_early, head.objects)) or all(map(_is_session, head.objects)))
        return 80 if each or head.any_has(*_FIELDS) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object" and ("node_type" not in head.members or "entries" in head.keys):
            yield _document(source, head)
            return
        whole = any(map(_is_session, head.objects))
        each = each_list(source, head, "entries", ids=("session_id",)) if whole else None
        for session in each or grouped(source, head, self.session_of):
            yield session if isinstance(session, Problem) else replace(session, home=HOME)

    def reader(self, context: Context) -> TurnReader:
        log = _windlass.WindlassLog(parquet=context.get("source") == "parquet")
        return TurnReader(log, twins=Twins(), failures=None)

    def sided_turns(self, entries: Iterable[Entry | Problem], reader: TurnReader) -> SidedTurns:
        return _windlass.turns(entries, cast("_windlass.WindlassLog", reader.conversation))


plugin = Windlass()


def _is_early(value: dict[str, Any]) -> bool:
    """An entry of the first logs, which had five fields and no `node_type`."""
    return value.keys() >= _FIRST_FIELDS and isinstance(value["timestamp"], int | float)


def _is_session(value: dict[str, Any]) -> bool:
    """A whole session, as it stands alone in a file of its own."""
    entries = value.get("entries")
    return isinstance(entries, list) and any(isinstance(entry, dict) and "node_type" in entry for entry in entries)


def _sniff_object(head: DumpHead) -> int:
    if "entries" in head.items:
        entries = head.items["entries"]
        fitting = [entry for entry in entries if isinstance(entry, dict) and any(key in entry for key in _FIELDS)]
        session_keys = head.keys & {"session_id", "dumped_at"}
        too_long = not entries and not head.whole and head.mentions(*_FIELDS)
        if fitting or too_long or (session_keys and not entries):
            return 90
        return 60 if session_keys else 20 if entries else 0
    if "entries" in head.members or {"session_id", "dumped_at"} <= head.keys:
        return 50
    return 80 if "node_type" in head.members else 0


def _document(source: Source, head: DumpHead) -> SessionEntries:
    beside, entries = with_list(source, head, "entries", needed="session_id")
    name = _session_id(source, head, beside)
    counted = _counted(entries, beside.get("entry_count"))
    problems = id_problem("session_id", beside.pop("session_id", None), name)
    first = (text(entry.get("cascade_id")) for entry in head.items.get("entries", []) if isinstance(entry, dict))
    title = next((cascade for cascade in first if cascade), None)
    return SessionEntries(name, chain(problems, counted), title, HOME, beside)


def _session_id(source: Source, head: DumpHead, beside: dict[str, Any]) -> str:
    """The document's own id, else the first entry's, else the file's name."""
    ident = id_text(beside.get("session_id"))
    if ident is not None:
        return ident
    entries = [entry for entry in head.items.get("entries", []) if isinstance(entry, dict)]
    return next((name for entry in entries if (name := id_text(entry.get("session_id")))), source.stem)


def _counted(entries: Entries, count_said: Any) -> Entries:
    """Pass the entries on; say where they are other than the dump itself says."""
    count, sound = 0, True
    for entry in entries:
        sound = sound and not isinstance(entry, Problem)
        count += 1
        yield entry
    if sound and isinstance(count_said, int) and count_said != count:
        yield Problem("entry_count", f"the dump says {count_said} entries and holds {count}")

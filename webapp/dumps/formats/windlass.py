"""Windlass logs: a session dump, its parquet fallback, the later version, or plain JSONL of entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webapp.dumps import grouping
from webapp.dumps.base import Context, Entry, id_problem, id_text, objects, text
from webapp.dumps.documents import array_as_lines, members, require_list
from webapp.dumps.formats import _windlass
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.stream import Item, Opened, Part, walk
from webapp.dumps.twins import merged

HOME = "windlass-strict"
_OWN = ("node_type", "cascade_id", "cascade_file", "phase_name", "cell_name", "sounding_index", "take_index")
_ABOUT = ("dumped_at", "entry_count", "source")


class Windlass:
    name = "windlass"
    shapes = 'a Windlass dump {"session_id", "entries": […]} or its entries one a line'

    def sniff(self, head: Head) -> int:
        if head.shape == "object":
            return _sniff_object(head)
        if head.shape in ("lines", "array"):
            return 80 if head.any_has(*_OWN) else 0
        return 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        if head.shape == "object" and not ("node_type" in head.members and "entries" not in head.keys):
            yield from _document(source, head)
        elif head.shape == "array":
            with array_as_lines(source) as (recoded, problems):
                yield from problems
                yield from _lines(recoded, lambda number: f"[{number - 1}]")
        else:
            yield from _lines(source, "line {}".format)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return merged(_windlass.turns(entries, context))


plugin = Windlass()


def _sniff_object(head: Head) -> int:
    if "entries" in head.items:
        entries = head.items["entries"]
        known = [entry for entry in entries if isinstance(entry, dict) and any(key in entry for key in _OWN)]
        return 90 if known or not entries else 60
    if "entries" in head.members or {"session_id", "dumped_at"} <= head.keys:
        return 50
    return 80 if "node_type" in head.members else 0


def _document(source: Source, head: Head) -> Iterator[Record]:
    require_list(head, "entries")
    known = members(source, head, "entries", wanted="session_id")
    name = _session_id(source, head, known)
    extra = {key: value for key, value in known.items() if key not in ("session_id", "entries")}
    yield SessionStart(name, plugin.name, home=HOME, title=_title(head), extra=extra)
    yield from id_problem("session_id", known.get("session_id"), name)
    entries = objects(_counted(walk(source.text(), frozenset(("entries",))), known), "entries")
    yield from plugin.turns(entries, extra)


def _title(head: Head) -> str | None:
    """The cascade that ran: the first that an entry names."""
    entries = [entry for entry in head.items.get("entries", []) if isinstance(entry, dict)]
    return next((found for entry in entries if (found := text(entry.get("cascade_id")))), None)


def _session_id(source: Source, head: Head, known: dict[str, Any]) -> str:
    """The document's own id, else the first entry's, else the file's name."""
    own = id_text(known.get("session_id"))
    if own is not None:
        return own
    entries = [entry for entry in head.items.get("entries", []) if isinstance(entry, dict)]
    named = (id_text(entry.get("session_id")) for entry in entries)
    return next((name for name in named if name), None) or source.stem


def _counted(parts: Iterator[Part], known: dict[str, Any]) -> Iterator[Part]:
    """Pass the parts on; say where there are no entries, or other than the dump itself says."""
    count, sound, found = 0, True, False
    for part in parts:
        found = found or isinstance(part, Opened)
        sound = sound and not isinstance(part, Problem)
        count += isinstance(part, Item)
        yield part
    if not found:
        yield Problem("entries", "the dump holds no list of entries")
    said = known.get("entry_count")
    if sound and isinstance(said, int) and said != count:
        yield Problem("entry_count", f"the dump says {said} entries and holds {count}")


def _lines(source: Source, place: grouping.Place) -> Iterator[Record]:
    none = True
    for name, entries in grouping.by_session(source, lambda entry: id_text(entry.get("session_id")), place):
        yield SessionStart(name, plugin.name, home=HOME)
        yield from plugin.turns(entries, {})
        none = False
    if none:
        yield from (found for found in grouping.lines(source, place) if isinstance(found, Problem))

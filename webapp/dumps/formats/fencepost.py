"""Our own session dump: the entries as they came, and what else is needed to read them the same way again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from webapp.dumps.base import Context, Entry, Format, id_problem, id_text, objects, text
from webapp.dumps.decoding import kind_of
from webapp.dumps.documents import members, require_list
from webapp.dumps.head import Head
from webapp.dumps.records import BadDump, Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.stream import walk
from webapp.plugins import collect


class Fencepost:
    name = "fencepost"
    shapes = 'a dump by this program {"session_id", "entries": […], "fencepost": {…}}'

    def sniff(self, head: Head) -> int:
        return 100 if head.shape == "object" and isinstance(head.members.get("fencepost"), dict) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        known = members(source, head, "entries", wanted="fencepost")
        own = known.get("fencepost")
        if not isinstance(own, dict):
            raise BadDump(f"fencepost: expected an object, found {kind_of(own)}", "fencepost")
        require_list(head, "entries")
        name = id_text(known.get("session_id"))
        name = source.stem if name is None else name
        extra: dict[str, Any] = own["extra"] if isinstance(own.get("extra"), dict) else {}
        original, problem = _original(own.get("format"))
        yield SessionStart(name, original.name, home=text(own.get("home")), title=text(own.get("title")), extra=extra)
        yield from id_problem("session_id", known.get("session_id"), name)
        yield from problem
        entries = objects(walk(source.text(), frozenset(("entries",))), "entries")
        yield from original.turns(entries, extra)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return _original("windlass")[0].turns(entries, context)


def _original(name: Any) -> tuple[Format, list[Problem]]:
    """The format that the entries are in; one that is not known here is read as Windlass's, with a problem."""
    known = cast("dict[str, Format]", collect("webapp.dumps.formats"))
    if isinstance(name, str) and name in known and name != plugin.name:
        return known[name], []
    reason = f"the entries' format {name!r} is not known here; they were read as Windlass entries"
    return known["windlass"], [Problem("fencepost.format", reason)]


plugin = Fencepost()

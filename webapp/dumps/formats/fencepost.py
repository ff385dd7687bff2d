"""Our own session dump: the entries as they came, and what else is needed to read them the same way again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webapp import jsontext
from webapp.dumps import reading
from webapp.dumps.base import Context, DumpHead, Entry, Format, Source
from webapp.dumps.decoding import kind_of
from webapp.dumps.documents import id_problem, with_list
from webapp.dumps.records import BadDump, Problem, Record, SessionStart, Turn
from webapp.dumps.values import as_object, id_text, text


class Fencepost(Format):
    shapes = 'a dump by this program {"session_id", "entries": […], "fencepost": {…}}'

    def sniff(self, head: DumpHead) -> int:
        return 100 if isinstance(head.document.get("fencepost"), dict) else 0

    def read(self, source: Source, head: DumpHead) -> Iterator[Record]:
        beside, entries = with_list(source, head, "entries", needed="fencepost")
        about = beside.get("fencepost")
        if not isinstance(about, dict):
            raise BadDump(f"fencepost: expected an object, found {kind_of(about)}", "fencepost")
        name = id_text(beside.get("session_id"))
        name = source.stem if name is None else name
        if about.get("floats") == "marked":
            about = jsontext.unmarked(about)  # NaN and the infinities stand where they were: see `jsontext.marked`
            entries = (each if isinstance(each, Problem) else (each[0], jsontext.unmarked(each[1])) for each in entries)
        extra = as_object(about.get("extra"))
        original, problem = _original(about.get("format"))
        home, title, service = (text(about.get(key)) for key in ("home", "title", "service"))
        yield SessionStart(name, original.name, home, title, extra, service)
        yield from id_problem("session_id", beside.get("session_id"), name)
        yield from problem
        yield from original.turns(entries, extra)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return _original("windlass")[0].turns(entries, context)


def _original(name: Any) -> tuple[Format, list[Problem]]:
    """The format that the entries are in; one that is not known here is read as Windlass's, with a problem."""
    formats = reading.known_formats()
    if isinstance(name, str) and name in formats and name != plugin.name:
        return formats[name], []
    reason = f"the entries' format {name!r} is not known here; they were read as Windlass entries"
    return formats["windlass"], [Problem("fencepost.format", reason)]


plugin = Fencepost()

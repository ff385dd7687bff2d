"""Fencepost's own: what `webapp.client.Recorder` writes, and session dumps with what reading them again needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

from webapp import jsontext
from webapp.dumps import reading
from webapp.dumps.base import Context, DumpHead, Entry, Format, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.decoding import kind_of
from webapp.dumps.documents import id_problem, with_list
from webapp.dumps.records import BadDump, Kind, Problem, Record, SessionStart, Turn, changed
from webapp.dumps.values import as_object, id_text, text

_KINDS = get_args(Kind)
_MARK = "recorded_at"


@dataclass(slots=True)
class _Recording(Declaring):
    written: int | None = None
    """the entry of the last thing that the model wrote, which an error that says `answers` answers"""


class Recorded(Declared):
    conversation_type = _Recording

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "lines" and head.objects and all(map(_is_entry, head.objects)):
            return 95
        return 60 if _is_entry(head.document) else 0

    def read_entry(self, entry: dict[str, Any], conversation: _Recording) -> list[Turn]:  # type: ignore[override]
        (turn,) = super().read_entry(entry, conversation)
        if conversation.declared_beside is not None:  # with the prompt, or with the response itself
            conversation.declares(conversation.declared_beside)
        if turn.kind == "error" and entry.get("answers") is True:
            turn = changed(turn, answers=conversation.written)
        if turn.written_by_model:
            conversation.written = conversation.entry
            turn = changed(turn, declared=conversation.declared)
        return [turn]


def _is_entry(value: dict[str, Any]) -> bool:
    return value.get("kind") in _KINDS and {"session_id", _MARK} <= value.keys()


class Fencepost(Format):
    called = "fencepost"
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
            entries = (item if isinstance(item, Problem) else (item[0], jsontext.unmarked(item[1])) for item in entries)
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
    if isinstance(name, str) and name in formats and name != Fencepost.called:
        return formats[name], []
    reason = f"the entries' format {name!r} is not known here; they were read as Windlass entries"
    return formats["windlass"], [Problem("fencepost.format", reason)]


plugins = (Recorded("recorder"), Fencepost())

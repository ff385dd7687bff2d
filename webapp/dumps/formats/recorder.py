"""Fencepost's own: what `webapp.client.Recorder` writes, and session dumps with what reading them again needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, get_args

from webapp import jsontext
from webapp.dumps import reading
from webapp.dumps.base import Context, Conversation, DumpHead, Entry, Format, PlacedTurn, Sessions, Source
from webapp.dumps.decoding import kind_of
from webapp.dumps.documents import id_problem, with_list
from webapp.dumps.records import BadDump, Kind, Problem, Record, SessionStart, Turn, changed
from webapp.dumps.sessions import grouped
from webapp.dumps.values import as_object, first_text, id_text, moment, number, text, whole

_KINDS = get_args(Kind)
_MARK = "recorded_at"


@dataclass(slots=True)
class _Recording(Conversation):
    written: int | None = None
    """the entry of the last thing that the model wrote, which an error that says `answers` answers"""


class Recorded(Format):
    shapes = 'a recording {"session_id", "kind", "text", "recorded_at", …} one a line'
    conversation_type = _Recording

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "lines" and head.objects and all(map(_is_entry, head.objects)):
            return 95
        return 60 if _is_entry(head.document) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        """By `session_of`; a session's first entry says what it is called and parsed with."""
        for session in grouped(source, head, self.session_of):
            if isinstance(session, Problem):
                yield session
                continue
            entries = iter(session.entries)
            early, first = list[Entry | Problem](), dict[str, Any]()
            for entry in entries:
                early.append(entry)
                if not isinstance(entry, Problem):
                    first = entry[1]
                    break
            title, home = text(first.get("title")), text(first.get("home"))
            yield replace(session, entries=chain(early, entries), title=title, home=home)

    def read_entry(self, entry: dict[str, Any], conversation: _Recording) -> list[PlacedTurn]:
        turn = _turn(entry, conversation.written)
        if conversation.declared_beside is not None:  # with the prompt, or with the response itself
            conversation.declares(conversation.declared_beside)
        if turn.written_by_model:
            conversation.written = conversation.entry
            turn = changed(turn, declared=conversation.declared)
        return [(turn, ("text",))]


def _is_entry(value: dict[str, Any]) -> bool:
    return value.get("kind") in _KINDS and {"session_id", _MARK} <= value.keys()


def _turn(entry: dict[str, Any], written: int | None) -> Turn:
    kind: Kind = entry["kind"] if entry.get("kind") in _KINDS else "event"
    raw = entry.get("text")
    return Turn(
        entry=0,
        kind=kind,
        raw=raw if isinstance(raw, str) else None,
        role=text(entry.get("role")),
        agent=first_text(entry, "name", "agent"),
        model=text(entry.get("model")),
        phase=text(entry.get("phase")),
        sounding=whole(entry.get("sounding")),
        round=whole(entry.get("round")),
        attempt=whole(entry.get("attempt")),
        parent=text(entry.get("parent")),
        failure=text(entry.get("failure")),
        answers=written if kind == "error" and entry.get("answers") is True else None,
        sent_at=moment(entry.get(_MARK)),
        tokens_in=whole(entry.get("tokens_in")),
        tokens_out=whole(entry.get("tokens_out")),
        cost=number(entry.get("cost")),
    )


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


plugins = (Recorded(), Fencepost())

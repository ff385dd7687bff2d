"""What is made for Fencepost: recordings of its client, its own dumps of sessions, and single responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from webapp import jsontext
from webapp.dumps import reading
from webapp.dumps.base import (
    Context,
    Conversation,
    DumpHead,
    Entries,
    Entry,
    Format,
    SessionEntries,
    Sessions,
    Source,
)
from webapp.dumps.budget import BadDump
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.decoding import kind_of
from webapp.dumps.documents import id_problem, with_list
from webapp.dumps.formats.transcript import templated, told
from webapp.dumps.linked_turns import LAST_RESPONSE
from webapp.dumps.log_records import text_records
from webapp.dumps.messages.bodies import body_in, said_turns
from webapp.dumps.messages.named_texts import is_chat
from webapp.dumps.messages.pieces import Piece, call
from webapp.dumps.messages.printed import is_printed
from webapp.dumps.messages.turns import each_filled, event_turns, note_once, text_turns, turns_of
from webapp.dumps.records import Problem, Record, SessionStart, Turn, changed
from webapp.dumps.source import lines
from webapp.dumps.values import WORDS, as_list, as_object, first_text, id_text, moment, text


class Recorded(Declared):
    def read_entry(self, entry: dict[str, Any], conversation: Declaring) -> list[Turn]:
        (turn,) = super().read_entry(entry, conversation)
        if conversation.declared_beside is not None:  # with the prompt, or with the response itself
            conversation.declares(conversation.declared_beside)
        if turn.kind == "error" and entry.get("answers") is True:
            turn = changed(turn, answers=LAST_RESPONSE)
        return [changed(turn, declared=conversation.declared) if turn.written_by_model else turn]


class Fencepost(Format):
    called = "fencepost"
    shapes = 'a dump by this program {"session_id", "entries": […], "fencepost": {…}}'

    def sniff(self, head: DumpHead) -> int:
        return 100 if isinstance(head.document.get("fencepost"), dict) else 0

    def read(self, source: Source, head: DumpHead) -> Iterator[Record]:
        beside, entries = with_list(source, head, "entries")
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


_PROMPT_HISTORY = {"session_id", "ts", "text"}
"""the keys of Codex' history.jsonl, in which no model speaks"""
_EPISODE = re.compile(r"(?:^|/)episode-\d+/response\.txt$")
"""what Terminal-Bench's and Harbor's Terminus keeps of each answer"""
_ASKED_FOR = "stdin"
"""what standard input is called"""


class Responses(Format):
    called = "responses"
    shapes = '{"id", "text"} one a line; named, or on standard input, also a plain text that is one response'
    id_key = "id"
    by_key = True

    def sniff(self, head: DumpHead) -> int:
        if head.shape in ("lines", "object") and head.objects and all(map(_is_response, head.objects)):
            return 0 if is_chat(head.objects) or all(told(value["text"]) for value in head.objects) else 50
        if _EPISODE.search(head.filename):
            return 96
        return 10 if head.shape != "empty" and head.filename == _ASKED_FOR else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if self.sniff(head) != 50:
            yield SessionEntries(source.stem, iter([("the text", {"text": source.plain_text()})]))
        elif head.shape == "object":
            yield SessionEntries(source.stem, lines(source))
        else:
            yield from super().sessions(source, head)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        raw = entry.get("text")
        if not isinstance(raw, str):
            conversation.notes.append("expected a text under the key 'text'; kept as an event")
            return []
        ident, when, model = id_text(entry.get("id")), moment(entry.get("timestamp")), text(entry.get("model"))
        answer = Turn(0, "response", raw, "assistant", model=model, parent=ident, sent_at=when)
        calls = list(_calls_beside(entry))
        if parts := templated(raw):
            return [turn for role, part in parts for turn in text_turns(part, role, conversation, model=model)]
        said: list[Turn] = [answer]
        if is_printed(raw) or body_in(raw):
            said = each_filled(said_turns(raw, conversation), model=model, parent=ident, sent_at=when)
        elif not calls and model is None and (not entry.keys() & {"id", "meta_info"} or entry.keys() - _OWN):
            note_once("texts are read by the name `text`; nothing says that a model wrote them", conversation)
        return [*(turns_of(calls, "assistant", conversation, model=model) if calls else ()), *said]


_OWN = {"id", "text", "timestamp", "steps", "toolCalls", "meta_info"}
"""keys beside others than which anybody may have written the text"""
_OF_OTHERS = frozenset(WORDS["of_others"].split())
"""keys beside a text that people wrote, or that is not one response"""


def _is_response(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() == _PROMPT_HISTORY:
        return False
    return isinstance(value.get("text"), str) and not value.keys() & _OF_OTHERS


def _calls_beside(entry: dict[str, Any]) -> Iterator[Piece]:
    """The calls beside a text, and of the steps before it, as Vercel's SDK gives them."""
    keys_before = set()
    for holder in (*as_list(entry.get("steps")), entry):
        for value in as_list(as_object(holder).get("toolCalls")):
            name, ident = first_text(value, "toolName"), first_text(value, "toolCallId")
            if name and (ident is None or ident not in keys_before):
                keys_before.add(ident)
                yield call(value)


_NAME = r"(?:response|output|completion|answer|reply|generation|sample|attempt)"
_HEADING = re.compile(
    rf"[ \t]*[=\-#*~<\[]{{1,80}}[ \t]*(?:(?:llm|model|raw|ai)[ _-])?{_NAME}"
    r"[ \t]*[#:]?[ \t]*\d+[ \t]*[:=\-#*~>\]]{0,80}\s*",
    re.I,
)
RULE = re.compile(r"[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*")
_MOST_BEFORE = 2000


class Separated(Format):
    called = "separated"
    shapes = "responses in one text below lines such as === response 3 ===; named, also between lines of --- or ==="

    def sniff(self, head: DumpHead) -> int:
        if head.shape != "text":
            return 0
        lines = head.text.splitlines(keepends=True)
        headings = [index for index, line in enumerate(lines) if _HEADING.fullmatch(line)]
        return 58 if len(headings) > 1 and len("".join(lines[: headings[0]]).strip()) <= _MOST_BEFORE else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _texts(source, _HEADING if self.sniff(head) else RULE))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        if entry.get("before_first"):
            return event_turns("title", text(entry.get("text")))
        return text_turns(str(entry.get("text")), "assistant", conversation)


def _texts(source: Source, mark: re.Pattern[str]) -> Entries:
    """What stands between the marks, without empty lines around it."""
    is_headed = mark is _HEADING
    for record in text_records(source, mark.fullmatch):
        if isinstance(record, Problem):
            yield record
            continue
        heading = record.lines.pop(0).strip() if mark.fullmatch(record.lines[0]) else ""
        written = record.text.strip("\r\n").rstrip()
        if written.strip():
            entry = {"heading": heading, "text": written}
            yield f"line {record.number}", entry if heading or not is_headed else {**entry, "before_first": True}
        elif heading and is_headed:
            yield Problem(f"line {record.number}", f"nothing stands below {heading[:80]!r}")


plugins = (Recorded("recorder"), Fencepost(), Responses(), Separated())

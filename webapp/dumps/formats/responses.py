"""Single responses: JSONL of {"id", "text"}; named, or on standard input, also a plain text that is one response."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import BadEntry, Conversation, DumpHead, Entries, Format, PlacedTurn, Source
from webapp.dumps.messages.bodies import said_turns
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.printed import is_printed, unprinted
from webapp.dumps.messages.turns import each_filled, turns_of
from webapp.dumps.records import Turn
from webapp.dumps.sessions import SessionEntries, Sessions, lines
from webapp.dumps.values import as_list, as_object, first_text, id_text, moment, text

_PROMPT_HISTORY = {"session_id", "ts", "text"}
"""the keys of Codex' history.jsonl, in which no model speaks"""
_EPISODE = re.compile(r"(?:^|/)episode-\d+/response\.txt$")
"""what Terminal-Bench's and Harbor's Terminus keeps of each answer"""
_ASKED_FOR = "stdin"
"""what standard input is called"""


class Responses(Format):
    shapes = '{"id", "text"} one a line; named, or on standard input, also a plain text that is one response'
    id_key = "id"
    by_key = True

    def sniff(self, head: DumpHead) -> int:
        if head.shape in ("lines", "object") and head.objects and all(map(_is_pair, head.objects)):
            return 50
        if _EPISODE.search(head.filename):
            return 96
        if head.shape == "text" and head.whole and unprinted(head.text) is not None:
            return 30
        return 10 if head.shape != "empty" and head.filename == _ASKED_FOR else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if self.sniff(head) != 50:
            yield SessionEntries(source.stem, _whole_text(source))
        elif head.shape == "object":
            yield SessionEntries(source.stem, lines(source))
        else:
            yield from super().sessions(source, head)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        raw = entry.get("text")
        if not isinstance(raw, str):
            raise BadEntry("expected a text under the key 'text'")
        ident, when, model = id_text(entry.get("id")), moment(entry.get("timestamp")), text(entry.get("model"))
        answer = Turn(0, "response", raw, "assistant", model=model, parent=ident, sent_at=when)
        calls = list(_calls(entry))
        said: list[PlacedTurn] = [(answer, ("text",))]
        if is_printed(raw):
            said = each_filled(said_turns(raw, ("text",), conversation), model=model, parent=ident, sent_at=when)
        return [*(turns_of(calls, "assistant", conversation, model=model) if calls else ()), *said]


plugin = Responses()


def _is_pair(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() == _PROMPT_HISTORY:
        return False
    return isinstance(value.get("text"), str) and not value.keys() & {"role", "record"}


def _calls(entry: dict[str, Any]) -> Iterator[Piece]:
    """The calls beside a text, and of the steps before it, as Vercel's SDK gives them."""
    keys_before = set()
    for holder in (*as_list(entry.get("steps")), entry):
        for value in as_list(as_object(holder).get("toolCalls")):
            name, ident = first_text(value, "toolName"), first_text(value, "toolCallId")
            if name and (ident is None or ident not in keys_before):
                keys_before.add(ident)
                yield Piece.of_call(value.get("input", value.get("args")), (), name, ident, value)


def _whole_text(source: Source) -> Entries:
    yield "the text", {"text": source.plain_text()}

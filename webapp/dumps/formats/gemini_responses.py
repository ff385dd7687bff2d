"""Answers of Google's API without their requests: {"candidates"}, streams as lists or one chunk a line."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Entry, Format, PlacedTurn, Source
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.messages.http import parsed_body
from webapp.dumps.messages.turns import error_turns, unplaced
from webapp.dumps.records import Problem
from webapp.dumps.sessions import SessionEntries, Sessions, entries_of
from webapp.dumps.values import as_list, as_object, first_text, id_text


class GeminiResponses(Format):
    shapes = 'Google\'s answers {"candidates": […]} or {"method", "response"}, alone, one a line or a list'

    def sniff(self, head: DumpHead) -> int:
        return 80 if 2 * sum(map(_is_answer, head.objects)) > len(head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _answers(entries_of(source, head)))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        response = entry.get("response", entry)
        body = parsed_body(response)
        at = ("response",) if "response" in entry else ()
        turns = exchange(entry.get("request"), body, ("request",), at, conversation)
        feedback = as_object(as_object(body).get("promptFeedback"))
        if reason := first_text(feedback, "blockReasonMessage", "blockReason"):
            turns = [*(placed for placed in turns if placed[0].raw), *error_turns(reason, "provider")]
        return turns if body is response else unplaced(turns)


plugin = GeminiResponses()


def _is_answer(value: dict[str, Any]) -> bool:
    if isinstance(value.get("candidates"), list) or isinstance(value.get("promptFeedback"), dict):
        return "request" not in value
    response = value.get("response")
    responses = response if isinstance(response, list) else [response]
    return "method" in value and any("candidates" in as_object(part) for part in responses)


def _answers(entries: Entries) -> Entries:
    """The entries, with the chunks of each stream as one: all of its id up to the one that says why it ended."""
    chunks: dict[str | None, list[Entry]] = {}
    for entry in entries:
        if isinstance(entry, Problem) or "candidates" not in entry[1]:
            yield entry
            continue
        ident = id_text(entry[1].get("responseId"))
        chunks.setdefault(ident, []).append(entry)
        if any(as_object(candidate).get("finishReason") for candidate in as_list(entry[1]["candidates"])):
            yield _joined(chunks.pop(ident))
    yield from map(_joined, chunks.values())


def _joined(chunks: list[Entry]) -> Entry:
    at, value = chunks[0]
    return (at, value) if len(chunks) == 1 else (at, {"response": [chunk for _, chunk in chunks]})

"""Gemini: sessions of its CLI, and answers of Google's API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Entry, Format, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.messages.http import parsed_body
from webapp.dumps.messages.turns import each_with, error_turns, event_turns
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import document_session, entries_of
from webapp.dumps.values import as_list, as_object, first_text, id_text

_HEAD = {"sessionId", "projectHash"}
_SPOKEN = ("user", "gemini", "model")


@dataclass(slots=True)
class _GeminiSession(Declaring):
    rewinds: int = 0


class GeminiCli(Declared):
    conversation_type = _GeminiSession

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object":
            return 95 if head.keys >= _HEAD else 0
        marked = (line.keys() >= _HEAD or _is_message(line) for line in head.objects)
        return 95 if head.shape == "lines" and any(marked) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object" and "messages" in head.keys:
            yield document_session(source, head, "messages", needed="sessionId", ids=("sessionId",))
            return
        name = next((ident for line in head.objects if (ident := id_text(line.get("sessionId")))), source.stem)
        yield SessionEntries(name, _current(source, head))

    def read_entry(self, entry: dict[str, Any], conversation: _GeminiSession) -> list[Turn]:  # type: ignore[override]
        conversation.rewinds += "$rewindTo" in entry
        if changed := next((key for key in entry if key.startswith("$") and "type" not in entry), None):
            return event_turns(changed)
        turns = super().read_entry(entry, conversation)
        return each_with(turns, sounding=conversation.rewinds or None) if entry.get("type") in _SPOKEN else turns


def _is_message(value: dict[str, Any]) -> bool:
    return value.get("type") == "gemini" and "content" in value and "timestamp" in value


def _current(source: Source, head: DumpHead) -> Entries:
    """The lines, messages of a `$set` each by itself; of those written again the last is the message.

    The earlier ones stay as `{"superseded": …}`.
    """
    last: dict[str, int] = {}
    for number, entry in enumerate(_messages(source, head)):
        if not isinstance(entry, Problem) and (ident := id_text(entry[1].get("id"))):
            last[ident] = number
    for number, entry in enumerate(_messages(source, head)):
        if isinstance(entry, Problem):
            yield entry
            continue
        ident = id_text(entry[1].get("id"))
        yield entry if not ident or last[ident] == number else (entry[0], {"superseded": entry[1]})


def _messages(source: Source, head: DumpHead) -> Entries:
    for entry in entries_of(source, head):
        if isinstance(entry, Problem):
            yield entry
            continue
        at, value = entry
        replaced = as_object(value.get("$set")).get("messages")
        if isinstance(replaced, list):
            yield from ((f"{at}, messages[{n}]", item) for n, item in enumerate(replaced) if isinstance(item, dict))
            value = {**value, "$set": {key: inner for key, inner in value["$set"].items() if key != "messages"}}
        yield at, value


class GeminiResponses(Format):
    called = "gemini_responses"
    shapes = 'Google\'s answers {"candidates": […]} or {"method", "response"}, alone, one a line or a list'

    def sniff(self, head: DumpHead) -> int:
        return 80 if 2 * sum(map(_is_answer, head.objects)) > len(head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _answers(entries_of(source, head)))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        body = parsed_body(entry.get("response", entry))
        turns = exchange(entry.get("request"), body, conversation)
        feedback = as_object(as_object(body).get("promptFeedback"))
        if reason := first_text(feedback, "blockReasonMessage", "blockReason"):
            turns = [*(placed for placed in turns if placed.raw), *error_turns(reason, "provider")]
        return turns


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


plugins = (GeminiCli("gemini_cli"), GeminiResponses())

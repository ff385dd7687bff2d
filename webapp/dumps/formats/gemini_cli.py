"""Gemini: sessions of its CLI, and answers of Google's API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webapp.dumps.base import (
    NATIVE,
    Conversation,
    DumpHead,
    Entries,
    Entry,
    Format,
    PlacedTurn,
    SessionEntries,
    Sessions,
    Source,
)
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.messages.calls import listed_calls
from webapp.dumps.messages.http import parsed_body
from webapp.dumps.messages.pieces import Piece, content
from webapp.dumps.messages.turns import (
    each_with,
    error_turns,
    note_unknown_kind,
    turns_of,
    unplaced,
    with_usage,
)
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import document_session, entries_of
from webapp.dumps.values import as_list, as_object, first_text, id_text, text

_HEAD = {"sessionId", "projectHash"}
_SPOKEN = ("user", "gemini", "model")
_NOTES = ("info", "error", "warning")
_BAD_CALL = "invalid_tool_params"


@dataclass(slots=True)
class _GeminiSession(Conversation):
    rewinds: int = 0


class GeminiCli(Format):
    home = NATIVE
    shapes = 'Gemini CLI (~/.gemini/tmp/*/chats) {"sessionId", "projectHash", "messages": […]}, or one a line'
    conversation_type = _GeminiSession
    times = ("timestamp",)

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

    def read_entry(self, entry: dict[str, Any], conversation: _GeminiSession) -> list[PlacedTurn]:
        if "$rewindTo" in entry:
            conversation.rewinds += 1
        kind = entry.get("type")
        if kind not in _SPOKEN:
            raw = text(entry.get("content")) if kind in _NOTES else None
            if kind not in _NOTES and (kind is not None or "toolCalls" in entry):
                note_unknown_kind(kind, conversation)
            role = text(kind) or next((key for key in entry if key.startswith("$")), None) or "session"
            return [(Turn(0, "error" if kind == "error" else "event", raw=raw, role=role), ("content",))]
        role = "user" if kind == "user" else "assistant"
        turns = turns_of(_pieces(entry, conversation.notes), role, conversation, model=text(entry.get("model")))
        turns = with_usage(turns, entry.get("tokens"))
        return each_with(turns, sounding=conversation.rewinds or None)


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


def _pieces(entry: dict[str, Any], notes: list[str]) -> list[Piece]:
    pieces = []
    for index, thought in enumerate(as_list(entry.get("thoughts"))):
        if description := first_text(thought, "description", "subject"):
            pieces.append(Piece("thinking", description, ("thoughts", index, "description")))
    key = "content" if "content" in entry or "parts" not in entry else "parts"
    if not isinstance(entry.get(key), str | list):  # beside calls it is an empty text
        pieces.append(Piece("unread", "a message without a readable content"))
    if entry.get(key) == "" and entry.get("type") != "user" and not as_list(entry.get("toolCalls")):
        pieces.append(Piece("unread", "an answer that says nothing and calls nothing"))
    if entry.get(key) or not as_list(entry.get("toolCalls")):
        pieces += content(entry.get(key), (key,))
    for call in listed_calls(entry, "toolCalls", notes):
        pieces += _call(call)
    return pieces


def _call(call: dict[str, Any]) -> list[Piece]:
    name, ident = text(call.get("name")), text(call.get("id"))
    answers = [part for part in as_list(call.get("result")) if isinstance(part, dict)]
    response = as_object(as_object(answers[0].get("functionResponse")).get("response")) if answers else {}
    error = text(response.get("error"))
    failed = call.get("status") == "error" and _BAD_CALL in str(call.get("errorType", response.get("errorType")))
    pieces = [Piece.of_call(call.get("args"), (), name, ident, call, error if failed else None)]
    answer = error or response.get("output") or (call.get("result") if call.get("result") else None)
    if answer is not None:
        pieces.append(Piece.of_result(answer, (), name, ident))
    return pieces


class GeminiResponses(Format):
    called = "gemini_responses"
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


plugins = (GeminiCli(), GeminiResponses())

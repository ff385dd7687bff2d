"""Gemini: sessions of its CLI, histories and answers of Google's API, chats of Google Takeout, whose text is HTML."""

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
from webapp.dumps.messages.http import is_body, parsed_body
from webapp.dumps.messages.pieces import Piece, content
from webapp.dumps.messages.turns import (
    each_with,
    error_turns,
    event_turns,
    message_turns,
    note_unknown_kind,
    text_turns,
    turns_of,
    unplaced,
    with_usage,
)
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import by_time, document_session, entries_of
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
    shapes = 'Gemini CLI\'s sessions {"sessionId", "projectHash", "messages": […]}, or one a line'
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


_ROLES = ("user", "model", "function", "system", "tool")
_IDS = ("session_id", "sessionId", "id")
_LISTS = ("contents", "history")


class GoogleContents(Format):
    called = "google_contents"
    shapes = 'Google\'s histories [{"role": "model", "parts": [{"text"}]}] or {"contents": […]}'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object" and is_body(head.document.get("response")):
            return 0  # a request with its answer
        messages = head.items.get(_list(head), []) if head.shape == "object" else head.objects
        return 71 if messages and all(map(_is_content, messages)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object":
            yield document_session(source, head, _list(head), needed="session_id", ids=_IDS)
        else:
            yield SessionEntries(source.stem, entries_of(source, head))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        return message_turns(entry, conversation)


def _list(head: DumpHead) -> str:
    return next((key for key in _LISTS if key in head.keys), _LISTS[0])


def _is_content(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("role") not in _ROLES:
        return False
    parts = value.get("parts")
    return isinstance(parts, list) and all(isinstance(part, dict) and "type" not in part for part in parts)


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


_APPS = ("Gemini", "Bard")
_PROMPTED = ("Prompted ", "Said ", "Asked ")
"""what stands before a prompt; in other languages the title is taken as it is"""


class GeminiTakeout(Format):
    called = "gemini_takeout"
    shapes = 'Gemini\'s chats of Google Takeout [{"header": "Gemini Apps", "title", "time", "safeHtmlItem"}]'
    times = ("time",)

    def sniff(self, head: DumpHead) -> int:
        chats = [item for item in head.objects if str(item.get("header")).startswith(_APPS)]
        return 95 if head.shape in ("array", "lines") and any({"title", "time"} <= item.keys() for item in chats) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        """One session by time, since Takeout does not say which prompts belong together; its newest comes first."""
        yield from by_time(entries_of(source, head), lambda _: source.stem, lambda entry: entry.get("time"))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        title, items = text(entry.get("title")) or "", as_list(entry.get("safeHtmlItem"))
        begin = next((begin for begin in _PROMPTED if title.startswith(begin)), "")
        answers = [(index, raw) for index, item in enumerate(items) if (raw := text(as_object(item).get("html")))]
        if not answers and not begin:  # what was done without a model: feedback, an opened chat
            turns = event_turns(raw=title or None, path=("title",))
        else:
            turns = text_turns(title.removeprefix(begin), None if begin else ("title",), "user", conversation)
        for index, raw in answers:
            turns += text_turns(raw, ("safeHtmlItem", index, "html"), "assistant", conversation)
        if len(answers) < len(items):
            conversation.notes.append("an answer without its HTML")
        if answers and not conversation.answered:
            conversation.answered.add(0)
            conversation.notes.append("Takeout gives answers as HTML: these are not the model's own characters")
        return turns


plugins = (GeminiCli(), GoogleContents(), GeminiResponses(), GeminiTakeout())

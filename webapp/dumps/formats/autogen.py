"""AutoGen's recordings, states and messages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import entry_or_problem, nested
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.messages.pieces import Path, Piece, content
from webapp.dumps.messages.repetition import noted_answers
from webapp.dumps.messages.turns import (
    each_filled,
    event_turns,
    turns_of,
    unplaced,
    with_usage,
)
from webapp.dumps.records import Problem
from webapp.dumps.sessions import entries_of
from webapp.dumps.sqlite_tables import opened_tables, plain
from webapp.dumps.values import as_list, as_object, id_text, moment, text

_CONTEXT = ("SystemMessage", "UserMessage", "AssistantMessage", "FunctionExecutionResultMessage")
_SAID = ("TextMessage", "StopMessage", "HandoffMessage", "MultiModalMessage", "StructuredMessage")
_EVENTS = ("ToolCallRequestEvent", "ToolCallExecutionEvent", "ToolCallSummaryMessage", "ThoughtEvent")
_TABLE = "chat_completions"
"""of the runtime log of its version 0.2"""
_ROLES = {"SystemMessage": "system", "UserMessage": "user", "AssistantMessage": "assistant"}


class AutoGen(Format):
    shapes = 'AutoGen\'s recordings [{"mode": "create", "messages", "response"}], states {"agent_states"} or messages'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "sqlite":
            return 90 if _TABLE in head.names else 0
        if head.shape == "object":
            state = str(head.document.get("type")).endswith("State") and "version" in head.keys
            messages = [item for item in head.items.get("messages", []) if isinstance(item, dict)]
            return 92 if state or (messages and all(map(_is_message, messages))) else 0
        return 92 if head.objects and all(_is_record(item) or _is_message(item) for item in head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "sqlite":
            yield from _logged(source)
            return
        if head.shape != "object":
            yield SessionEntries(source.stem, entries_of(source, head))
            return
        for entry in entries_of(source, head):
            yield entry if isinstance(entry, Problem) else SessionEntries(source.stem, _of_document(*entry))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if _is_record(entry):
            return _recorded(entry, conversation)
        if "invocation_id" in entry:
            turns = exchange(entry.get("request"), entry.get("response"), ("request",), ("response",), conversation)
            agent, when = text(entry.get("source_name")), moment(entry.get("start_time"))
            return each_filled(turns or event_turns(), agent=agent, sent_at=when)
        message, at = (entry["message"], ("message",)) if isinstance(entry.get("message"), dict) else (entry, ())
        turns = _message(message, at, conversation)
        return each_filled(turns, agent=text(message.get("source")), sent_at=moment(message.get("created_at")))


def _is_record(value: dict[str, Any]) -> bool:
    return value.get("mode") in ("create", "create_stream") and "messages" in value and "response" in value


def _is_message(value: dict[str, Any]) -> bool:
    return value.get("type") in (*_CONTEXT, *_SAID, *_EVENTS) and "content" in value


def _logged(source: Source) -> Iterator[SessionEntries]:
    with opened_tables(source) as tables:
        for ident, rows in groupby(tables.rows(_TABLE, "session_id", "id"), lambda row: id_text(row.get("session_id"))):
            yield SessionEntries(ident or source.stem, ((f"call {row.get('id')}", _bodies(row)) for row in rows))


def _bodies(row: dict[str, Any]) -> dict[str, Any]:
    """A call with its request and response as JSON, where they are."""
    texts = {key: row[key] for key in ("request", "response") if isinstance(row.get(key), str)}
    parsed = {key: json_or_none(value) for key, value in texts.items()}
    return {**plain(row), **{key: value for key, value in parsed.items() if value is not None}}


def _of_document(at: str, value: dict[str, Any]) -> Entries:
    """The messages of a state: those of its agents, which a manager only repeats; else what the document lists."""
    states = as_object(value.get("agent_states"))
    if not states:
        messages = value.get("messages", as_object(value.get("llm_context")).get("messages"))
        yield from nested(at, "messages", as_list(messages))
        return
    contexts = {name: _context(as_object(state)) for name, state in states.items()}
    threads = {name: as_list(as_object(state).get("message_thread")) for name, state in states.items()}
    for name, messages in (contexts if any(contexts.values()) else threads).items():
        for index, message in enumerate(messages):
            entry = entry_or_problem(f"agent_states[{name!r}], messages[{index}]", message)
            yield entry if isinstance(entry, Problem) else (entry[0], {"agent": name, "message": entry[1]})


def _context(state: dict[str, Any]) -> list[Any]:
    inner = as_object(state.get("agent_state")) or state
    return as_list(as_object(inner.get("llm_context")).get("messages"))


def _recorded(entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    """What was asked anew, and the answer: each record repeats the history."""
    history = [_plain(message) for message in as_list(entry.get("messages")) if isinstance(message, dict)]
    response = as_object(entry.get("response"))
    turns = unplaced(exchange({"messages": history}, None, (), (), conversation))
    answer = turns_of(_pieces(response, ("response",)), "assistant", conversation)
    answer = noted_answers(answer, conversation)
    return [*turns, *with_usage(answer, response.get("usage"))]


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message of a context in OpenAI's words, so that repeated ones are told."""
    calls = [call for call in as_list(message.get("content")) if isinstance(call, dict)]
    if message.get("type") == "FunctionExecutionResultMessage":
        result = calls[0] if calls else {}
        return {"role": "tool", "content": result.get("content"), "tool_call_id": result.get("call_id")}
    role = _ROLES.get(str(message.get("type")), "user")
    if role == "assistant" and calls:
        return {"role": role, "content": None, "tool_calls": calls}
    return {"role": role, "content": message.get("content")}


def _message(message: dict[str, Any], at: Path, conversation: Conversation) -> list[PlacedTurn]:
    kind, source = str(message.get("type")), text(message.get("source"))
    if kind in ("FunctionExecutionResultMessage", "ToolCallExecutionEvent"):
        results = [result for result in as_list(message.get("content")) if isinstance(result, dict)]
        pieces = [Piece.of_result(item.get("content"), (), text(item.get("name")), _id(item)) for item in results]
        return turns_of(pieces, "tool", conversation)
    if kind == "ThoughtEvent":
        return turns_of([Piece("thinking", text(message.get("content")), (*at, "content"))], "assistant", conversation)
    if kind == "ToolCallSummaryMessage":  # the results again, as the program put them together
        return event_turns(kind, text(message.get("content")), (*at, "content"))
    if kind in _SAID and "content" not in message:
        conversation.notes.append("a message without a content")
    no_model = kind in _SAID and "models_usage" in message and message["models_usage"] is None
    role = "user" if source == "user" or no_model else "assistant"
    turns = turns_of(_pieces(message, at), _ROLES.get(kind, role), conversation)
    return with_usage(turns, message.get("models_usage"))


def _pieces(message: dict[str, Any], at: Path) -> list[Piece]:
    value, thought = message.get("content"), text(message.get("thought"))
    pieces = [Piece("thinking", thought, (*at, "thought"))] if thought else []
    if not isinstance(value, list):
        return [*pieces, *content(value, (*at, "content"))]
    for index, inner in enumerate(value):
        if isinstance(inner, dict) and ("arguments" in inner or {"id", "name"} <= inner.keys()):
            path = (*at, "content", index, "arguments")
            pieces.append(Piece.of_call(inner.get("arguments"), path, text(inner.get("name")), _id(inner), dict(inner)))
        else:
            pieces += content(inner, (*at, "content", index))
    return pieces


def _id(value: dict[str, Any]) -> str | None:
    return text(value.get("call_id")) or text(value.get("id"))


plugin = AutoGen()

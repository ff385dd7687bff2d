"""Copilot CLI's events: {"type": "assistant.message", "data", "id", "parentId"} one a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.calls import listed_calls
from webapp.dumps.messages.pieces import Piece, text_or_json
from webapp.dumps.messages.turns import error_turns, event_turns, result_turns, turns_of
from webapp.dumps.values import as_object, first_text, id_text, text

_ROLES = {"user.message": "user", "system.message": "system", "assistant.message": "assistant"}
_BEGINNINGS = (
    *("session.", "assistant.", "user.", "tool.", "system.", "hook.", "subagent.", "skill.", "permission."),
    *("abort", "pending_messages.", "external_tool."),
)


@dataclass(slots=True)
class _Session(Conversation):
    calls: set[str] = field(default_factory=set)
    """the calls that an answer asked for; their start repeats them"""


class Copilot(Format):
    shapes = 'Copilot CLI\'s events {"type": "assistant.message", "data", "id"} one a line'
    times = ("timestamp",)
    parent_key = "parentId"
    grows = True
    conversation_type = _Session

    def sniff(self, head: DumpHead) -> int:
        if head.shape != "lines" or not head.objects or not all(map(_is_event, head.objects)):
            return 0
        return 93 if head.any_has("id", "parentId") else 0

    def session_of(self, entry: dict[str, Any]) -> str | None:
        return id_text(as_object(entry.get("data")).get("sessionId")) if entry.get("type") == "session.start" else None

    def read_entry(self, entry: dict[str, Any], conversation: _Session) -> list[PlacedTurn]:
        kind, data = str(entry.get("type")), as_object(entry.get("data"))
        if kind in _ROLES:
            raw = text(data.get("content"))
            calls = [_call(call, conversation) for call in listed_calls(data, "toolRequests", conversation.notes)]
            thought = text(data.get("reasoningText"))
            pieces = [Piece("thinking", thought, ("data", "reasoningText"))] if thought else []
            if not isinstance(data.get("content", ...), str | None):
                conversation.notes.append("a message without a text as its content")
            if raw or not calls:
                pieces.append(Piece("text", raw or "", ("data", "content")))
            return turns_of([*pieces, *calls], _ROLES[kind], conversation)
        if kind == "tool.execution_start" and text(data.get("toolCallId")) not in conversation.calls:
            return turns_of([_call({**data, "name": data.get("toolName")}, conversation)], "assistant", conversation)
        if kind == "tool.execution_complete":
            result = data.get("result", data.get("error"))
            answer = first_text(result, "content", "message") or text_or_json(result, ())[0]
            return result_turns(answer, (), conversation, text(data.get("toolName")), text(data.get("toolCallId")))
        if kind == "session.error":
            return error_turns(text(data.get("message")), kind, ("data", "message"))
        conversation.model = first_text(data, "newModel", "selectedModel") or conversation.model
        return event_turns(kind, text(data.get("message")), ("data", "message"))


plugin = Copilot()


def _is_event(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and isinstance(value.get("data"), dict) and kind.startswith(_BEGINNINGS)


def _call(call: dict[str, Any], conversation: _Session) -> Piece:
    ident = text(call.get("toolCallId"))
    if ident is not None:
        conversation.calls.add(ident)
    return Piece.of_call(call.get("arguments"), (), text(call.get("name")), ident, dict(call))

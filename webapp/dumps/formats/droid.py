"""Factory Droid: its stored sessions (session_start, then messages) and its stream-json, one a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.turns import error_turns, event_turns, message_turns, result_turns, text_turns, turns_of
from webapp.dumps.values import first_text, id_text, text


@dataclass(slots=True)
class _Session(Conversation):
    answer: str | None = None
    """the last answer, which the completion of a stream repeats"""


class Droid(Format):
    shapes = 'Droid\'s sessions {"type": "session_start"}, {"type": "message"} one a line, or its stream-json'
    times = ("timestamp",)
    parent_key = "parentId"
    grows = True
    conversation_type = _Session

    def sniff(self, head: DumpHead) -> int:
        return 95 if head.shape == "lines" and any(map(_is_line, head.objects)) else 0

    def session_of(self, entry: dict[str, Any]) -> str | None:
        return id_text(entry.get("id")) if entry.get("type") == "session_start" else id_text(entry.get("session_id"))

    def read_entry(self, entry: dict[str, Any], conversation: _Session) -> list[PlacedTurn]:
        turns = _line(entry, conversation)
        conversation.answer = next((turn.raw for turn, _ in turns if turn.kind == "response"), conversation.answer)
        return turns


plugin = Droid()


def _is_line(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    if kind == "session_start":
        return "id" in value
    if kind in ("tool_call", "tool_result"):
        return "session_id" in value and bool(value.keys() & {"toolCallId", "toolId"})
    if kind == "message":
        return {"role", "text", "session_id"} <= value.keys()
    return kind == "completion" and "finalText" in value


def _line(entry: dict[str, Any], conversation: _Session) -> list[PlacedTurn]:
    kind, message = entry.get("type"), entry.get("message")
    name, ident = first_text(entry, "toolName", "toolId"), first_text(entry, "toolCallId", "id")
    if kind == "message" and isinstance(message, dict):
        return message_turns(message, conversation, ("message",), model=text(message.get("model")))
    if kind == "message":
        return text_turns(text(entry.get("text")) or "", ("text",), text(entry.get("role")), conversation)
    if kind == "tool_call":
        piece = Piece.of_call(entry.get("parameters"), ("parameters",), name, ident, dict(entry))
        return turns_of([piece], "assistant", conversation)
    if kind == "tool_result":
        return result_turns(entry.get("value", entry.get("error")), ("value",), conversation, name, ident)
    if kind == "completion" and (answer := text(entry.get("finalText"))) and answer != conversation.answer:
        return text_turns(answer, ("finalText",), "assistant", conversation)
    if kind == "completion" and not text(entry.get("finalText")):
        conversation.notes.append("a completion without a readable finalText")
    if kind == "error":
        return error_turns(first_text(entry, "message") or first_text(entry.get("error"), "message"))
    conversation.model = text(entry.get("model")) or conversation.model
    return event_turns(text(kind))

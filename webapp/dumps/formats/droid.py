"""Factory Droid: its stored sessions (session_start, then messages) and its stream-json, one a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import Piece, text_or_json
from webapp.dumps.messages.turns import each_filled, message_turns, text_turns, turns_of
from webapp.dumps.records import Turn
from webapp.dumps.times import moment
from webapp.dumps.values import as_object, first_text, id_text, text


@dataclass(slots=True)
class _Session(Conversation):
    answer: str | None = None
    """the last answer, which the completion of a stream repeats"""


class Droid(Format):
    name = "droid"
    shapes = 'Droid\'s sessions {"type": "session_start"}, {"type": "message"} one a line, or its stream-json'
    grows = True
    conversation_type = _Session

    def sniff(self, head: DumpHead) -> int:
        return 95 if head.shape == "lines" and any(map(_is_line, head.objects)) else 0

    def session_of(self, entry: dict[str, Any]) -> str | None:
        return id_text(entry.get("id")) if entry.get("type") == "session_start" else id_text(entry.get("session_id"))

    def read_entry(self, entry: dict[str, Any], conversation: _Session) -> list[PlacedTurn]:
        turns = _line(entry, conversation)
        conversation.answer = next((turn.raw for turn, _ in turns if turn.kind == "response"), conversation.answer)
        return each_filled(turns, sent_at=moment(entry.get("timestamp")), parent=id_text(entry.get("parentId")))


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
    kind, name = entry.get("type"), first_text(entry, "toolName", "toolId")
    ident = first_text(entry, "toolCallId", "id")
    message = entry.get("message")
    if kind == "message" and isinstance(message, dict):
        return message_turns(message, conversation, ("message",), model=text(message.get("model")))
    if kind == "message":
        return text_turns(text(entry.get("text")) or "", ("text",), text(entry.get("role")), conversation)
    if kind == "tool_call":
        raw, path = text_or_json(entry.get("parameters"), ("parameters",))
        return turns_of([Piece("call", raw, path, name, ident, dict(entry))], "assistant", conversation)
    if kind == "tool_result":
        raw, path = text_or_json(entry.get("value", entry.get("error")), ("value",))
        return turns_of([Piece("result", raw, path if "value" in entry else None, name, ident)], "tool", conversation)
    if kind == "completion" and (answer := text(entry.get("finalText"))) and answer != conversation.answer:
        return text_turns(answer, ("finalText",), "assistant", conversation)
    if kind == "completion" and not text(entry.get("finalText")):
        conversation.notes.append("a completion without a readable finalText")
    if kind == "error":
        error = first_text(entry, "message") or first_text(as_object(entry.get("error")), "message")
        return [(Turn(0, "error", raw=error), None)]
    conversation.model = text(entry.get("model")) or conversation.model
    return [(Turn(0, "event", role=text(kind)), None)]

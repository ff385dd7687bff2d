"""Kimi CLI's wire log: {"type": "context.append_message", "message"} and its loop's events, one a line."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import Piece, call
from webapp.dumps.messages.turns import event_turns, message_turns, result_turns, turns_of
from webapp.dumps.values import as_list, as_object, first_text, text

_OWN = ("context.append_message", "context.append_loop_event", "turn.prompt", "llm.request")


class Kimi(Format):
    shapes = 'Kimi CLI\'s wire log {"type": "context.append_message", "message", "time"} one a line'
    times = ("time",)

    def sniff(self, head: DumpHead) -> int:
        marked = any(line.get("type") in _OWN or "protocol_version" in line for line in head.objects)
        return 92 if head.shape == "lines" and marked and all("type" in line for line in head.objects) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        kind, message, event = entry.get("type"), entry.get("message"), as_object(entry.get("event"))
        if kind == "context.append_message" and isinstance(message, dict):
            turns = message_turns({**message, "tool_calls": message.get("toolCalls")}, conversation, ("message",))
        elif kind == "context.append_loop_event":
            turns = _event(event, conversation)
        else:
            conversation.model = first_text(entry, "model") or conversation.model
            turns = event_turns(text(kind))
        return turns


plugin = Kimi()


def _event(event: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    """An event of the agent's loop: a part of an answer, a call, a result; else what it is called."""
    kind, part, ident = str(event.get("type")), as_object(event.get("part")), first_text(event, "toolCallId", "id")
    key = next((key for key in ("text", "think", "thinking") if isinstance(part.get(key), str)), None)
    if kind == "content.part" and not part:
        conversation.notes.append("an event of a part of an answer without the part")
    if key is not None:
        piece = Piece("text" if key == "text" else "thinking", part[key], ("event", "part", key))
        return turns_of([piece], "assistant", conversation)
    if kind == "tool.call":
        arguments = event.get("args", event.get("arguments"))
        piece = Piece.of_call(arguments, (), text(event.get("name")), ident, event)
        return turns_of([piece], "assistant", conversation)
    if kind == "tool.result":
        result = event.get("result", event.get("output"))
        return result_turns(as_object(result).get("output", result), (), conversation, None, ident)
    calls = [call(inner, ()) for inner in as_list(event.get("toolCalls")) if isinstance(inner, dict)]
    return turns_of(calls, "assistant", conversation) if calls else event_turns(kind)

"""Antigravity's steps: {"step_index", "source", "type", "content", "tool_calls"} one a line."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.calls import listed_calls
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.turns import event_turns, result_turns, turns_of
from webapp.dumps.values import as_list, text


class Antigravity(Format):
    shapes = 'Antigravity\'s steps {"step_index", "source", "type", "content"} one a line'
    session_field = None
    times = ("created_at",)

    def sniff(self, head: DumpHead) -> int:
        return 93 if head.shape in ("lines", "array") and head.all_have("step_index", "source", "type") else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if not isinstance(entry.get("content"), str) and not entry.get("tool_calls"):
            conversation.notes.append("a step without a readable content")
        kind, source, raw = text(entry.get("type")), str(entry.get("source")), text(entry.get("content"))
        texts = [Piece("text", raw, ("content",))] if raw else []
        if kind == "PLANNER_RESPONSE":
            thought = text(entry.get("thinking"))
            pieces = [Piece("thinking", thought, ("thinking",)), *texts] if thought else texts
            for call in listed_calls(entry, "tool_calls", conversation.notes):
                pieces.append(Piece.of_call(call.get("args"), (), text(call.get("name")), None, dict(call)))
            if entry.get("content") == "" and not as_list(entry.get("tool_calls")):
                conversation.notes.append("an answer that says nothing and calls nothing")
            return turns_of(pieces, "assistant", conversation)
        if source.startswith("USER"):
            return turns_of(texts, "user", conversation)
        if source == "MODEL" and raw:
            return result_turns(raw, ("content",), conversation, kind)
        return event_turns(kind, raw, ("content",))


plugin = Antigravity()

"""Grok CLI's chat history: {"type": "assistant", "content", "tool_calls", "model_id"} one a line."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import Piece, block
from webapp.dumps.messages.turns import message_turns, note_unknown_kind, turns_of
from webapp.dumps.values import as_object, first_text, text

_ROLES = {"system": "system", "user": "user", "assistant": "assistant", "tool_result": "tool"}
_OTHERS = ("reasoning", "backend_tool_call")
"""lines without a content: what was thought, and what Grok's servers called"""


class Grok(Format):
    shapes = 'Grok CLI\'s history {"type": "assistant", "content", "tool_calls", "model_id"} one a line'
    session_field = None
    grows = True

    def sniff(self, head: DumpHead) -> int:
        lines = head.objects if head.shape in ("lines", "array") else []
        marked = any("model_id" in line or "prompt_index" in line or "tool_call_id" in line for line in lines)
        known = sum(map(_is_line, lines))
        is_grok = known == len(lines) or (known > 1 and len(lines) - known == 1 and all(map(_has_kind, lines)))
        return 85 if marked and is_grok else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if entry.get("type") == "reasoning":
            return turns_of(list(block(entry, ())), "assistant", conversation)
        if entry.get("type") == "backend_tool_call":
            kind = as_object(entry.get("kind"))
            arguments, name = kind.get("action", kind.get("arguments")), first_text(kind, "tool_type", "name")
            piece = Piece.of_call(arguments, (), name, text(kind.get("id")), kind)
            return turns_of([piece], "assistant", conversation)
        if entry.get("type") not in _ROLES:
            note_unknown_kind(entry.get("type"), conversation)
        role = _ROLES.get(str(entry.get("type")), text(entry.get("type")))
        message = {key: value for key, value in entry.items() if key != "type"}
        return message_turns({**message, "role": role}, conversation, model=text(entry.get("model_id")))


plugin = Grok()


def _has_kind(value: dict[str, Any]) -> bool:
    """Whether it is of a kind that Grok has, though its content may be called otherwise."""
    return value.get("type") in (*_ROLES, *_OTHERS) and not value.keys() & {"role", "message", "data"}


def _is_line(value: dict[str, Any]) -> bool:
    known = "content" in value or value.get("type") in _OTHERS
    return isinstance(value.get("type"), str) and known and not value.keys() & {"role", "message", "data"}

"""Cursor's agent transcripts: {"role", "message": {"content": […]}} one a line, without ids, times or models."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.turns import event_turns, message_turns
from webapp.dumps.values import text

_ROLES = ("user", "assistant", "system", "tool")


class Cursor(Format):
    shapes = 'Cursor\'s transcripts {"role", "message": {"content": […]}} one a line'
    session_field = None
    grows = True

    def sniff(self, head: DumpHead) -> int:
        fitting = sum(map(_is_line, head.objects))
        return 90 if head.shape in ("lines", "array") and 2 * fitting > len(head.objects) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        message, role = entry.get("message"), text(entry.get("role"))
        if not isinstance(message, dict) or role is None:
            return event_turns(text(entry.get("type")))
        return message_turns({**message, "role": role}, conversation, ("message",))


plugin = Cursor()


def _is_line(value: dict[str, Any]) -> bool:
    message = value.get("message")
    if value.get("role") not in _ROLES or not isinstance(message, dict) or "type" in value:
        return False
    return "content" in message and "role" not in message

"""Histories of Google's API: [{"role": "user" or "model", "parts": [{"text"}]}], a list, lines, or {"contents"}."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.messages.http import is_body
from webapp.dumps.messages.turns import message_turns
from webapp.dumps.sessions import document_session, entries_of

_ROLES = ("user", "model", "function", "system", "tool")
_IDS = ("session_id", "sessionId", "id")
_LISTS = ("contents", "history")


class GoogleContents(Format):
    shapes = 'Google\'s histories [{"role": "model", "parts": [{"text"}]}] or {"contents": […]}'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object" and is_body(head.document.get("response")):
            return 0  # a request with its answer
        messages = head.items.get(_list(head), []) if head.shape == "object" else head.objects
        return 71 if messages and all(map(_is_message, messages)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object":
            yield document_session(source, head, _list(head), needed="session_id", ids=_IDS)
        else:
            yield SessionEntries(source.stem, entries_of(source, head))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        return message_turns(entry, conversation)


plugin = GoogleContents()


def _list(head: DumpHead) -> str:
    return next((key for key in _LISTS if key in head.keys), _LISTS[0])


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("role") not in _ROLES:
        return False
    parts = value.get("parts")
    return isinstance(parts, list) and all(isinstance(part, dict) and "type" not in part for part in parts)

"""Claude.ai's export (conversations.json): each conversation is a session, its messages with their branches."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.branches import BranchedConversation
from webapp.dumps.entries import nested
from webapp.dumps.messages.turns import each_filled, message_turns, text_turns
from webapp.dumps.records import Problem
from webapp.dumps.sessions import each_session, entries_of
from webapp.dumps.values import as_list, first_text, id_text, text

_LEFT_OUT = "This block is not supported on your current device yet."
"""what Claude.ai's export writes in the text of a message in place of a call"""


class ClaudeAi(Format):
    shapes = 'Claude.ai\'s export [{"uuid", "name", "chat_messages": […]}]'
    times = ("created_at",)
    conversation_type = BranchedConversation

    def sniff(self, head: DumpHead) -> int:
        return 95 if head.all_have("chat_messages") and not head.any_has("mapping") else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield from each_session(entries_of(source, head), source.stem, _session)

    def read_entry(self, entry: dict[str, Any], conversation: BranchedConversation) -> list[PlacedTurn]:
        role = {"human": "user"}.get(str(entry.get("sender")), text(entry.get("sender")))
        parent = first_text(entry, "parent_message_uuid")
        branch = conversation.branch(id_text(entry.get("uuid")), parent)
        if as_list(entry.get("content")):
            turns = message_turns({"role": role, "content": entry["content"]}, conversation)
        else:
            if _LEFT_OUT in str(entry.get("text")):
                conversation.notes.append("the text leaves out a block, and there is no content that holds it")
            turns = text_turns(text(entry.get("text")) or "", ("text",), role, conversation)
        return each_filled(turns, sounding=branch, parent=parent)


plugin = ClaudeAi()


def _session(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries | Problem:
    messages = value.pop("chat_messages", None)
    if not isinstance(messages, list):
        return Problem(at, "no list of chat_messages; skipped")
    name = id_text(value.get("uuid")) or fallback
    return SessionEntries(name, nested(at, "chat_messages", messages), text(value.get("name")), extra=value)

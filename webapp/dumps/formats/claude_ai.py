"""Claude.ai's export (conversations.json): each conversation is a session, its messages with their branches."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import DumpHead, Format, PlacedTurn, Sessions, Source
from webapp.dumps.branches import BranchedConversation
from webapp.dumps.messages.turns import each_filled, message_turns, text_turns
from webapp.dumps.sessions import each_list
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
        yield from each_list(source, head, "chat_messages", ids=("uuid",), title=("name",))

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

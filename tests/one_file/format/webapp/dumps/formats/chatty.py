"""Chatty logs: one line a message, with the number of its chat."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format
from webapp.dumps.messages.pieces import content
from webapp.dumps.messages.turns import turns_of
from webapp.dumps.records import Turn
from webapp.dumps.values import text


class Chatty(Format):
    shapes = 'Chatty logs {"chat", "who", "said"} one a line'
    session_field = "chat"
    times = ("at",)

    def sniff(self, head: DumpHead) -> int:
        return 80 if head.all_have("chat", "who", "said") else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        return turns_of(content(entry.get("said")), text(entry.get("who")), conversation)


plugin = Chatty()

"""Chatty logs: one line a message, with the number of its chat."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import content
from webapp.dumps.messages.turns import turns_of
from webapp.dumps.times import moment
from webapp.dumps.values import id_text, text


class Chatty(Format):
    name = "chatty"
    shapes = 'Chatty logs {"chat", "who", "said"} one a line'

    def sniff(self, head: DumpHead) -> int:
        return 80 if head.all_have("chat", "who", "said") else 0

    def session_of(self, entry: dict[str, Any]) -> str | None:
        return id_text(entry.get("chat"))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        pieces = content(entry.get("said"), ("said",))
        return turns_of(pieces, text(entry.get("who")), conversation, sent_at=moment(entry.get("at")))


plugin = Chatty()

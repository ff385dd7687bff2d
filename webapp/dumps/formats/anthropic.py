"""Anthropic messages: a list, {"messages", "system"}, requests with responses; content a text or blocks."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, PlacedTurn
from webapp.dumps.formats.openai import OpenAi, entry_turns, failure_turns
from webapp.dumps.messages.bodies import exchange, unanswered
from webapp.dumps.messages.pieces import content
from webapp.dumps.messages.turns import turns_of
from webapp.dumps.values import as_list

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document")


class Anthropic(OpenAi):
    shapes = 'Anthropic messages (a list, {"messages", "system"}, {"request", "response"}; JSON or one a line)'
    times = ("timestamp", "created_at")

    def sniff(self, head: DumpHead) -> int:
        """Above OpenAI's score, and only where something stands that OpenAI does not have."""
        return 70 if super().sniff(head) and any(map(_is_anthropic, head.objects)) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if "role" in entry or "request" in entry or "response" in entry:
            return entry_turns(entry, conversation)
        if isinstance(result := entry.get("result"), dict):  # of a batch
            turns = exchange(None, result.get("message"), (), ("result", "message"), conversation)
            turns = turns or failure_turns(entry, "result", conversation)
            unanswered(entry, turns, conversation)
        elif "messages" in entry:
            turns = exchange(entry, None, (), (), conversation)
        elif "content" in entry:
            turns = turns_of(content(entry["content"], ("content",)), "user", conversation)
        else:
            unanswered(entry, [], conversation)
            return []
        return turns


plugin = Anthropic()


def _is_anthropic(value: dict[str, Any]) -> bool:
    """Blocks that only Anthropic has, or a message or request as only its API writes them."""
    for key in ("request", "response", "result", "message"):
        if isinstance(value.get(key), dict) and _is_anthropic(value[key]):
            return True
    if value.get("type") == "message" and "role" in value and ("stop_reason" in value or "model" in value):
        return "output" not in value
    messages = value.get("messages")
    if isinstance(messages, list):
        with_system = isinstance(value.get("system"), str | list) or "anthropic_version" in value
        return with_system or any(_is_anthropic(message) for message in messages if isinstance(message, dict))
    blocks = [block for block in as_list(value.get("content")) if isinstance(block, dict)]
    images = (block for block in blocks if block.get("type") == "image" and isinstance(block.get("source"), dict))
    return any(block.get("type") in _BLOCKS for block in blocks) or any(images)

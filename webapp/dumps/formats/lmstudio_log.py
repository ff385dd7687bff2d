"""LM Studio's log stream (`lms log stream --json`): what a model was given and what it wrote, one event a line."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.turns import event_turns, text_turns, with_usage
from webapp.dumps.values import as_object, first_text, text

_ROLES = {"llm.prediction.input": ("input", "user"), "llm.prediction.output": ("output", "assistant")}
_COUNTS = {"input": "promptTokensCount", "output": "predictedTokensCount"}


class LmStudioLog(Format):
    shapes = 'LM Studio\'s log stream {"timestamp", "data": {"type": "llm.prediction.output"}} one a line'
    times = ("timestamp",)

    def sniff(self, head: DumpHead) -> int:
        return 93 if any(str(as_object(item.get("data")).get("type")) in _ROLES for item in head.objects) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        data = as_object(entry.get("data"))
        key, role = _ROLES.get(str(data.get("type")), ("", ""))
        conversation.model = first_text(data, "modelIdentifier", "modelPath") or conversation.model
        if isinstance(data.get(key), str):
            turns = text_turns(data[key], ("data", key), role, conversation)
        else:
            turns = event_turns(text(data.get("type")))
        stats = as_object(data.get("stats"))
        return with_usage(turns, {name: stats.get(count) for name, count in _COUNTS.items()})


plugin = LmStudioLog()

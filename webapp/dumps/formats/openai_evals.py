"""OpenAI's evals: the log of a run, whose events of type sampling hold prompts and what was sampled."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.messages.turns import event_turns
from webapp.dumps.values import as_object, text


class OpenAiEvals(Format):
    shapes = 'logs of OpenAI\'s evals {"run_id", "sample_id", "type": "sampling", "data"} one a line'
    session_field = "sample_id"
    times = ("created_at",)

    def sniff(self, head: DumpHead) -> int:
        events = [line for line in head.objects if {"run_id", "sample_id", "type", "data"} <= line.keys()]
        return 92 if head.shape in ("lines", "array") and events else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        data, kind = as_object(entry.get("data")), text(entry.get("type"))
        if kind != "sampling":
            return event_turns(kind)
        turns = exchange(data, data.get("sampled"), ("data",), ("data", "sampled"), conversation)
        if not any(turn.written_by_model for turn, _ in turns):
            conversation.notes.append("a sampling without what was sampled")
        sampled = data.get("sampled")
        if isinstance(sampled, list) and any(not isinstance(item, str | dict) for item in sampled):
            conversation.notes.append("something sampled is no text; it was left out")
        return turns or event_turns(kind)


plugin = OpenAiEvals()

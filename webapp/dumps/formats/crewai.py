"""CrewAI: its log of tasks (output_log_file), and what a crew gave, `CrewOutput` as JSON."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, Sessions, Source
from webapp.dumps.messages.turns import each_filled, event_turns, text_turns
from webapp.dumps.sessions import document_session
from webapp.dumps.values import first_text, text


class CrewAi(Format):
    shapes = 'CrewAI\'s log [{"task", "agent", "status", "output"}], or its output {"raw", "tasks_output"}'
    times = ("timestamp",)

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object":
            return 90 if {"raw", "agent"} <= head.first_of("tasks_output").keys() else 0
        return 85 if head.all_have("task", "agent", "status", "timestamp") else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object":
            yield document_session(source, head, "tasks_output", needed="raw")
        else:
            yield from super().sessions(source, head)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        turns: list[PlacedTurn] = []
        prompt_key = next((key for key in ("description", "task") if text(entry.get(key))), None)
        if prompt_key is not None and entry.get("status") in (None, "started"):
            turns = text_turns(entry[prompt_key], (prompt_key,), "user", conversation)
        key = "raw" if "raw" in entry else "output"
        if isinstance(entry.get(key), str):
            turns += text_turns(entry[key], (key,), "assistant", conversation)
        elif entry.get("status") == "completed" or "raw" in entry:
            conversation.notes.append("a completed task without its output")
        turns = turns or event_turns(first_text(entry, "status"))
        return each_filled(turns, agent=first_text(entry, "agent"))


plugin = CrewAi()

"""Cline's `ui_messages.json`: what was shown, {"ts", "type": "say" or "ask", "say", "text"}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.turns import error_turns, event_turns, text_turns, turns_of, with_usage
from webapp.dumps.values import as_object, first_text, number, text

_ANSWERS = ("text", "completion_result")
_PROMPTS = ("task", "user_feedback", "user_feedback_diff")


@dataclass(slots=True)
class _Task(Conversation):
    task: str | None = None
    """what was asked for, which stands twice"""


class ClineUi(Format):
    shapes = 'Cline\'s ui_messages.json [{"ts", "type": "say", "say", "text"}]'
    session_field = None
    times = ("ts",)

    def sniff(self, head: DumpHead) -> int:
        return 93 if head.shape in ("array", "lines") and head.objects and all(map(_is_message, head.objects)) else 0

    conversation_type = _Task

    def read_entry(self, entry: dict[str, Any], conversation: _Task) -> list[PlacedTurn]:
        event, raw = text(entry.get(str(entry.get("type")))), text(entry.get("text"))
        model = first_text(entry.get("modelInfo"), "modelId")
        by_program = entry.get("type") == "ask" or entry.get("partial") is True
        if event == "text" and raw and not by_program and conversation.task is None and not conversation.entry:
            event = "task"  # Roo's first text, as older Clines have it
        if (
            event == "text" and raw and not by_program and raw == conversation.task
        ):  # Cline shows the task again as a text
            return event_turns("task", raw, ("text",))
        if event in _ANSWERS and not by_program and not isinstance(entry.get("text"), str | None):
            conversation.notes.append(f"{event!r} is said without a readable text")
        if event in _ANSWERS and raw and not by_program:
            return text_turns(raw, ("text",), "assistant", conversation, model=model)
        if event in _PROMPTS and not by_program:
            conversation.task = raw if event == "task" else conversation.task
            return text_turns(raw or "", ("text",), "user", conversation)
        if event == "reasoning" and raw and not by_program:
            return turns_of([Piece("thinking", raw, ("text",))], "assistant", conversation, model=model)
        if event == "error" or (event or "").endswith("_error"):
            return error_turns(raw, event, ("text",))
        if event == "api_req_started":
            request = as_object(json_or_none(raw or ""))
            usage = {"input": request.get("tokensIn"), "output": request.get("tokensOut")}
            turns = event_turns(event, raw, ("text",))
            if failure := text(request.get("streamingFailedMessage")):
                turns += error_turns(failure, event)
            return with_usage(turns, usage, number(request.get("cost")))
        return event_turns(event, raw, ("text",))


plugin = ClineUi()


def _is_message(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return "ts" in value and kind in ("say", "ask") and isinstance(value.get(str(kind)), str)

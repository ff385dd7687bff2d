"""smolagents' memory: steps with what the model wrote, what its code or calls gave, and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import Piece, text_or_json
from webapp.dumps.messages.turn_values import each_filled, spent, with_once
from webapp.dumps.messages.turns import error_turns, event_turns, message_turns, result_turns, text_turns, turns_of
from webapp.dumps.records import changed
from webapp.dumps.values import as_list, as_object, first_moment, first_text, text

_UNPARSED = "AgentParsingError"
"""the error of a text in which the agent's parser found no code and no call"""
_TASKS = {"task": "user", "system_prompt": "system"}


class SmolAgents(Format):
    shapes = 'smolagents\' steps {"step_number", "model_output", "observations"} in a list or one a line'
    times = ("start_time",)

    def sniff(self, head: DumpHead) -> int:
        steps = [item for item in head.objects if item.keys() & {"step_number", "plan", "task", "system_prompt"}]
        written = any({"model_output", "observations"} & item.keys() and "step_number" in item for item in steps)
        planned = any("plan" in item and "model_output_message" in item for item in steps)
        return 92 if (written or planned) and len(steps) == len(head.objects) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        turns = list(_written(entry, conversation))
        for key, role in _TASKS.items():
            if text(entry.get(key)):
                turns += text_turns(entry[key], (key,), role, conversation)
        if observed := text_or_json(entry.get("observations"), ())[0]:
            name = first_text(_calls(entry)[-1].get("function"), "name") if _calls(entry) else None
            turns += result_turns(observed, ("observations",), conversation, name)
        error = entry.get("error")
        if isinstance(error, str) or as_object(error):
            failed = error_turns(error, first_text(error, "type"), ("error",))
            for number, (turn, at) in enumerate(turns):
                if failed[0][0].role == _UNPARSED and turn.kind == "response":
                    turns[number] = (changed(turn, failure=failed[0][0].raw), at)
            turns += failed
        return each_filled(turns or event_turns("step"), sent_at=first_moment(entry.get("timing"), "start_time"))


plugin = SmolAgents()


def _calls(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for value in as_list(entry.get("tool_calls")) if isinstance(value, dict)]


def _written(entry: dict[str, Any], conversation: Conversation) -> Iterator[PlacedTurn]:
    """What the model wrote: its message, where it is there, else the text; a plan repeats its message."""
    message, usage = as_object(entry.get("model_output_message")), spent(entry.get("token_usage"))
    raw = text(entry.get("model_output")) or text(entry.get("plan"))
    if message.get("content") or message.get("tool_calls"):
        turns = message_turns({**message, "role": "assistant"}, conversation, ("model_output_message",))
    elif raw:
        turns = text_turns(raw, ("model_output",) if "model_output" in entry else ("plan",), "assistant", conversation)
    else:
        if "model_output" in entry and not entry.get("error"):
            conversation.notes.append("a step without what the model wrote")
        return
    if not any(turn.kind == "tool_call" for turn, _ in turns) and not entry.get("code_action"):
        for call in _calls(entry):
            function = as_object(call.get("function"))
            name, ident = text(function.get("name")), text(call.get("id"))
            if name not in ("python_interpreter", "final_answer"):
                piece = Piece.of_call(function.get("arguments"), (), name, ident, call)
                turns += turns_of([piece], "assistant", conversation)
    yield from with_once(turns, usage)

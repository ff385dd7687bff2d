"""smolagents' memory: steps with what the model wrote, what its code or calls gave, and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import Piece, text_or_json
from webapp.dumps.messages.turns import each_filled, message_turns, spent, text_turns, turns_of, with_once
from webapp.dumps.records import Turn, changed
from webapp.dumps.times import first_moment
from webapp.dumps.values import as_list, as_object, first_text, text

_UNPARSED = "AgentParsingError"
"""the error of a text in which the agent's parser found no code and no call"""
_TASKS = {"task": "user", "system_prompt": "system"}


class SmolAgents(Format):
    name = "smolagents"
    shapes = 'smolagents\' steps {"step_number", "model_output", "observations"} in a list or one a line'

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
        observed, path = text_or_json(entry.get("observations"), ("observations",))
        if observed:
            name = first_text(as_object(_calls(entry)[-1].get("function")), "name") if _calls(entry) else None
            turns += turns_of([Piece("result", observed, path, name)], "tool", conversation)
        if error := as_object(entry.get("error")):
            raw = first_text(error, "message") or text_or_json(error, ())[0]
            if error.get("type") == _UNPARSED:
                turns = [(changed(turn, failure=raw) if turn.kind == "response" else turn, at) for turn, at in turns]
            turns.append((Turn(0, "error", raw=raw, role=text(error.get("type"))), None))
        elif isinstance(entry.get("error"), str):
            turns.append((Turn(0, "error", raw=entry["error"]), ("error",)))
        turns = turns or [(Turn(0, "event", role="step"), None)]
        when = first_moment(as_object(entry.get("timing")), "start_time") or first_moment(entry, "start_time")
        return each_filled(turns, sent_at=when)


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
            arguments = text_or_json(function.get("arguments"), ())[0]
            if function.get("name") not in ("python_interpreter", "final_answer"):
                piece = Piece("call", arguments, None, text(function.get("name")), text(call.get("id")), call)
                turns += turns_of([piece], "assistant", conversation)
    yield from with_once(turns, usage)

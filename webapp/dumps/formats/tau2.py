"""tau2-bench's results: {"simulations": [{"messages"}]}; answers are the assistant's, the user is a model too."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.documents import nested, with_list
from webapp.dumps.messages.pieces import call, text_or_json
from webapp.dumps.messages.turns import event_turns, message_turns, with_usage
from webapp.dumps.records import Problem
from webapp.dumps.sessions import entries_of
from webapp.dumps.values import as_list, as_object, first_text, id_text


class Tau2(Format):
    shapes = 'tau2-bench\'s results {"simulations": [{"task_id", "trial", "messages"}]}'
    times = ("timestamp",)

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object":
            if {"task_id", "messages"} <= head.first_of("simulations").keys():
                return 95
            has_tasks = bool(head.first_of("tasks").keys() & {"user_scenario", "evaluation_criteria"})
            return 92 if has_tasks and "info" in head.keys else 0  # its simulations begin behind the head
        return 93 if head.all_have("task_id", "messages", "termination_reason") else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        extra: dict[str, Any] = {}
        entries = entries_of(source, head)
        if head.shape == "object":
            beside, entries = with_list(source, head, "simulations", needed="info")
            extra = {"info": beside.get("info")}
        for number, entry in enumerate(entries):
            if isinstance(entry, Problem):
                yield entry
                continue
            at, value = entry
            messages = nested(at, "messages", as_list(value.pop("messages", None)))
            yield SessionEntries(trial_name(value) or f"{source.stem}-{number}", messages, extra={**value, **extra})

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        raw = as_object(entry.get("raw_data"))
        message = as_object(as_object((as_list(raw.get("choices")) or [None])[0]).get("message"))
        written = {call(value, ()).id: value for value in as_list(message.get("tool_calls")) if isinstance(value, dict)}
        listed = as_list(entry.get("tool_calls"))
        calls = [written.get(first_text(tool_call, "id"), tool_call) for tool_call in listed]
        message_with_calls = {**entry, "tool_calls": calls if entry.get("role") == "assistant" else None}
        if entry.get("role") == "tool":
            message_with_calls["tool_call_id"] = entry.get("id")
        turns = message_turns(message_with_calls, conversation, model=first_text(raw, "model"))
        if calls:  # their texts may stand in the raw data
            turns = [(turn, path if turn.kind != "tool_call" else None) for turn, path in turns]
        if calls and entry.get("role") == "user":
            for value in map(as_object, calls):
                conversation.tools[id_text(value.get("id")) or ""] = first_text(value, "name") or ""
                turns += event_turns("user/tool_call", text_or_json(value.get("arguments"), ())[0])
        return with_usage(turns, entry.get("usage"), entry.get("cost"))


plugin = Tau2()


def trial_name(value: dict[str, Any]) -> str | None:
    """A session by its task, and by the number of its trial where there is one."""
    task, trial = id_text(value.get("task_id")), id_text(value.get("trial"))
    return task if task is None or trial is None else f"{task}/{trial}"

"""Trajectories: tau2-bench's simulations, whose user is a model, too, and ATIF's with subagents as branches."""

from __future__ import annotations

from itertools import chain
from typing import Any

from webapp.dumps.base import Context, Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.documents import Entries, nested, with_list
from webapp.dumps.messages.calls import listed_calls
from webapp.dumps.messages.pieces import Piece, call, content, joined, text_or_json
from webapp.dumps.messages.turns import (
    each_filled,
    each_with,
    event_turns,
    message_turns,
    result_turns,
    turns_of,
    with_usage,
)
from webapp.dumps.records import Problem
from webapp.dumps.sessions import each_session, entries_of
from webapp.dumps.values import as_list, as_object, first_id, first_text, id_text, text, whole


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


def trial_name(value: dict[str, Any]) -> str | None:
    """A session by its task, and by the number of its trial where there is one."""
    task, trial = id_text(value.get("task_id")), id_text(value.get("trial"))
    return task if task is None or trial is None else f"{task}/{trial}"


_ROLES = {"agent": "assistant", "user": "user", "system": "system"}
_IDS = ("session_id", "trajectory_id")


class Atif(Format):
    called = "atif"
    shapes = 'ATIF trajectories {"schema_version": "ATIF-v1.7", "steps": […]}'
    times = ("timestamp",)

    def sniff(self, head: DumpHead) -> int:
        versions = [str(item.get("schema_version")) for item in head.objects]
        return 95 if versions and all(version.startswith("ATIF-v") for version in versions) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object":
            yield _session(source.stem, *with_list(source, head, "steps", needed="schema_version"))
        else:
            yield from each_session(entries_of(source, head), source.stem, _listed)

    def conversation(self, context: Context) -> Conversation:
        return Conversation(first_text(context.get("agent"), "model_name"))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        metrics = as_object(entry.get("metrics"))
        turns = with_usage(_step(entry, conversation), metrics, metrics.get("cost_usd"))
        if entry.get("is_copied_context") is True:
            turns = each_with(turns, duplicate_of=conversation.entry)
        return each_filled(turns, sounding=whole(entry.get("subagent")))


def _listed(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries:
    return _session(fallback, value, nested(at, "steps", as_list(value.pop("steps", None))))


def _session(fallback: str, extra: dict[str, Any], entries: Entries) -> SessionEntries:
    inner = extra.pop("subagent_trajectories", None)
    name = first_id(extra, *_IDS) or fallback
    strange = [key for key, value in extra.items() if any("steps" in as_object(item) for item in as_list(value))]
    strange += ["subagent_trajectories"] if inner and not isinstance(inner, list) else []
    left_out = [Problem("the trajectory", f"{key[:40]!r} is no list of subagents' trajectories") for key in strange]
    return SessionEntries(name, chain(_with_subagents(entries, as_list(inner)), left_out), extra=extra)


def _with_subagents(entries: Entries, subagents: list[Any]) -> Entries:
    """The steps, then those of the agents that it started, each with the number of its branch."""
    yield from entries
    waiting, number = list(subagents), 0
    while waiting:
        trajectory = as_object(waiting.pop(0))
        number += 1
        if not isinstance(trajectory.get("steps"), list):
            yield Problem(f"subagent {number}", "no list of steps; skipped")
        for entry in nested(f"subagent {number}", "steps", as_list(trajectory.get("steps"))):
            yield entry if isinstance(entry, Problem) else (entry[0], {**entry[1], "subagent": number})
        waiting.extend(as_list(trajectory.get("subagent_trajectories")))


def _step(entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    role = _ROLES.get(str(entry.get("source")), text(entry.get("source")))
    thought = text(entry.get("reasoning_content"))
    pieces = [Piece("thinking", thought, ("reasoning_content",))] if thought else []
    calls = listed_calls(entry, "tool_calls", conversation.notes)
    if entry.get("message") or not calls:
        pieces += content(entry.get("message"), ("message",))
    for index, value in enumerate(calls):
        name, ident = text(value.get("function_name")), text(value.get("tool_call_id"))
        path = ("tool_calls", index, "arguments")
        pieces.append(Piece.of_call(value.get("arguments"), path, name, ident, dict(value)))
    if "message" not in entry:
        conversation.notes.append(f"a step without a message (its keys: {', '.join(map(repr, entry))})")
    turns = turns_of(pieces, role, conversation, model=text(entry.get("model_name")))
    for result in as_list(as_object(entry.get("observation")).get("results")):
        answer, _ = joined(content(as_object(result).get("content"), ()))
        if answer is not None:
            turns += result_turns(answer, (), conversation, None, text(as_object(result).get("source_call_id")))
    return turns


plugins = (Tau2(), Atif())

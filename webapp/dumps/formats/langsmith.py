"""Runs as tracers keep them: LangSmith's, one a line, a list, or batches {"post", "patch"}, and Weave's calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Entry, Format, Source
from webapp.dumps.declared import Declared
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.bodies import exchange, is_answer
from webapp.dumps.messages.turns import each_filled, error_turns, event_turns
from webapp.dumps.programs import Program, by_run
from webapp.dumps.records import Problem, Turn
from webapp.dumps.values import as_list, as_object, first_id, text

_BATCH = ("post", "patch")
_TEXTS = ("inputs", "outputs", "extra")


class LangSmith(Declared):
    def entries(self, source: Source, head: DumpHead) -> Entries:
        return map(_parsed, _joined(super().entries(source, head)))

    def program_of(self, entry: dict[str, Any]) -> Program | None:
        return by_run(entry)


def _runs(value: dict[str, Any]) -> list[dict[str, Any]]:
    if any(isinstance(value.get(key), list) for key in _BATCH):
        return [run for key in _BATCH for run in as_list(value.get(key)) if isinstance(run, dict)]
    return [value]


def _parsed(entry: Entry | Problem) -> Entry | Problem:
    """A run whose inputs and outputs are JSON texts, as in bulk exports, with what they hold."""
    if isinstance(entry, Problem):
        return entry
    at, run = entry
    texts = {key: json_or_none(run[key]) for key in _TEXTS if isinstance(run.get(key), str)}
    return at, {**run, **{key: value for key, value in texts.items() if value is not None}}


def _joined(entries: Entries) -> Entries:
    """Runs of their own; those of batches with what was told of them later, by their dotted order."""
    open_runs: dict[str, Entry] = {}
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        at, value = entry
        if not any(isinstance(value.get(key), list) for key in _BATCH):
            yield from _with_children(at, value)
            continue
        for index, run in enumerate(_runs(value)):
            key = first_id(run, "dotted_order", "id") or f"{at}/{index}"
            before = open_runs.pop(key, (f"{at}, run {index}", {}))
            merged = {**before[1], **{name: inner for name, inner in run.items() if inner is not None}}
            if "end_time" in merged or "outputs" in merged or "error" in merged:
                yield before[0], merged
            else:
                open_runs[key] = (before[0], merged)
    yield from open_runs.values()


def _with_children(at: str, run: dict[str, Any]) -> Iterator[Entry]:
    """A run, then the runs within it, which an export of a trace as a tree holds in it."""
    children = run.pop("child_runs", None)
    yield at, run
    for index, child in enumerate(as_list(children)):
        if isinstance(child, dict):
            yield from _with_children(f"{at}, child_runs[{index}]", child)


_OPERATION = re.compile(r"weave:///[^/]+/[^/]+/op/([^:]+)")
_ASKING = ("messages", "contents", "prompt", "input", "chat_history")


class Weave(Format):
    called = "weave"
    shapes = 'Weave\'s calls {"op_name", "trace_id", "inputs", "output"} one a line or a list'
    times = ("started_at",)
    id_key = "id"

    def sniff(self, head: DumpHead) -> int:
        return 93 if head.all_have("op_name", "trace_id", "inputs") else 0

    def session_of(self, entry: dict[str, Any]) -> str | None:
        return first_id(entry, "thread_id", "trace_id")

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        inputs, output = as_object(entry.get("inputs")), entry.get("output")
        match = _OPERATION.match(str(entry.get("op_name")))
        name = match[1] if match else text(entry.get("op_name"))
        turns: list[Turn] = []
        if is_answer(output) or ("model" in inputs and any(map(inputs.get, _ASKING))):
            turns = exchange(inputs, output, conversation)
            answered = any(turn.written_by_model for turn in turns)
            if not answered and not entry.get("exception") and not conversation.notes:
                conversation.notes.append("a model was asked, and its output says nothing that is known")
        if reason := text(entry.get("exception")):
            turns += error_turns(reason)
        if not turns:  # what an operation of the program took and gave, which its calls of a model say, too
            turns = event_turns(name)
        return each_filled(turns, phase=name, parent=text(entry.get("parent_id")))


plugins = (LangSmith("langsmith"), Weave())

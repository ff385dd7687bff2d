"""Traces as programs and tracers keep them: LangSmith's runs, Weave's calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Entry, Source
from webapp.dumps.declared import Declared
from webapp.dumps.messages.bodies import is_answer
from webapp.dumps.messages.exchanges import exchange
from webapp.dumps.messages.turns import (
    each_filled,
    error_turns,
    event_turns,
)
from webapp.dumps.records import Problem, Turn
from webapp.dumps.values import as_list, as_object, first_id, text

_BATCH = ("post", "patch")


class LangSmith(Declared):
    def entries(self, source: Source, head: DumpHead) -> Entries:
        return _joined(super().entries(source, head))


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
        runs = (run for key in _BATCH for run in as_list(value.get(key)) if isinstance(run, dict))
        for index, run in enumerate(runs):
            key = first_id(run, "dotted_order", "id") or f"{at}/{index}"
            before = open_runs.pop(key, (f"{at}, run {index}", {}))
            merged = {**before[1], **{name: inner for name, inner in run.items() if inner is not None}}
            if any(merged.get(key) for key in ("end_time", "outputs", "error")):
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


class Weave(Declared):
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
        return each_filled(turns, phase=name)


plugins = (LangSmith("langsmith"), Weave("weave"))

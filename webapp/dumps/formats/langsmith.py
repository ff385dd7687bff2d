"""LangSmith's runs: one a line, a list, or batches {"post", "patch"} as its SDK sends them; llm runs are answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import DumpHead, Entries, Entry, Source
from webapp.dumps.declared import Declared
from webapp.dumps.decoding import json_or_none
from webapp.dumps.programs import Program, by_run
from webapp.dumps.records import Problem
from webapp.dumps.values import as_list, first_id

_BATCH = ("post", "patch")
_TEXTS = ("inputs", "outputs", "extra")


class LangSmith(Declared):
    def entries(self, source: Source, head: DumpHead) -> Entries:
        return map(_parsed, _joined(super().entries(source, head)))

    def program_of(self, entry: dict[str, Any]) -> Program | None:
        return by_run(entry)


plugin = LangSmith("langsmith")


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

"""tau-bench results: a list of {task_id, trial, reward, info, traj}; each item is a session."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import DumpHead, SessionEntries, Sessions, Source
from webapp.dumps.decoding import kind_of
from webapp.dumps.entries import nested
from webapp.dumps.formats.openai import OpenAi
from webapp.dumps.records import Problem
from webapp.dumps.sessions import entries_of
from webapp.dumps.values import as_object, id_text, short_title, text


class TauBench(OpenAi):
    name = "tau_bench"
    shapes = 'tau-bench results (a list of {"task_id", "trial", "traj": […]})'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object":
            return 95 if "traj" in head.items and "task_id" in head.members else 0
        return 95 if head.all_have("task_id", "traj") else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        for number, entry in enumerate(entries_of(source, head)):
            yield entry if isinstance(entry, Problem) else _result(f"{source.stem}-{number}", *entry)


plugin = TauBench()


def _result(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries | Problem:
    messages = value.pop("traj", None)
    if not isinstance(messages, list):
        return Problem(at, f"traj: expected a list, found {kind_of(messages)}; skipped")
    task, trial = id_text(value.get("task_id")), id_text(value.get("trial"))
    name = fallback if task is None else task if trial is None else f"{task}/{trial}"
    instruction = text(as_object(as_object(value.get("info")).get("task")).get("instruction"))
    return SessionEntries(name, nested(at, "traj", messages), short_title(instruction), extra=value)

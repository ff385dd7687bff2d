"""tau-bench results: a list of {task_id, trial, reward, info, traj}; each item is a session."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import DumpHead, SessionEntries, Sessions, Source
from webapp.dumps.decoding import kind_of
from webapp.dumps.entries import nested
from webapp.dumps.formats.openai import OpenAi
from webapp.dumps.records import Problem
from webapp.dumps.sessions import entries_of
from webapp.dumps.values import as_object, first_text, id_text, short_title


class TauBench(OpenAi):
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
    title = short_title(first_text(as_object(value.get("info")).get("task"), "instruction"))
    return SessionEntries(trial_name(value) or fallback, nested(at, "traj", messages), title, extra=value)


def trial_name(value: dict[str, Any]) -> str | None:
    """A session by its task, and by the number of its trial where there is one."""
    task, trial = id_text(value.get("task_id")), id_text(value.get("trial"))
    return task if task is None or trial is None else f"{task}/{trial}"

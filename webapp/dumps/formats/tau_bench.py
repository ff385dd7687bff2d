"""tau-bench results: a list of {task_id, trial, reward, info, traj}; each item is a session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webapp.dumps import grouping
from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, entry_or_problem, id_text, objects, text
from webapp.dumps.decoding import kind_of
from webapp.dumps.formats import _openai
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.stream import walk


class TauBench:
    name = "tau_bench"
    shapes = 'tau-bench results (a list of {"task_id", "trial", "traj": […]})'

    def sniff(self, head: Head) -> int:
        if head.shape == "object":
            return 95 if "traj" in head.items and "task_id" in head.members else 0
        return 95 if head.all_have("task_id", "traj") else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        for number, entry in enumerate(_items(source, head)):
            if isinstance(entry, Problem):
                yield entry
            else:
                yield from _session(number, source.stem, *entry)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return reported(_openai.turns(entries, context))


plugin = TauBench()


def _items(source: Source, head: Head) -> Iterator[Entry | Problem]:
    """The results: a list's items, one a line, or one that is the document."""
    if head.shape == "array":
        yield from objects(walk(source.text(), frozenset()), "")
    elif head.shape == "lines":
        yield from grouping.lines(source)
    else:
        members = (part for part in walk(source.text(), frozenset()) if not isinstance(part, Problem))
        yield "the document", {part.key: getattr(part, "value", None) for part in members}


def _session(number: int, stem: str, at: str, value: dict[str, Any]) -> Iterator[Record]:
    messages = value.pop("traj", None)
    if not isinstance(messages, list):
        yield Problem(at, f"traj: expected a list, found {kind_of(messages)}; skipped")
        return
    task, trial = id_text(value.get("task_id")), id_text(value.get("trial"))
    name = f"{stem}-{number}" if task is None else task if trial is None else f"{task}/{trial}"
    yield SessionStart(name, plugin.name, title=_title(value), extra=value)
    entries = (entry_or_problem(f"{at}, traj[{index}]", message) for index, message in enumerate(messages))
    yield from plugin.turns(entries, value)


def _title(value: dict[str, Any]) -> str | None:
    """The beginning of what the simulated user was told."""
    info = value.get("info")
    task = info.get("task") if isinstance(info, dict) else None
    said = text(task.get("instruction")) if isinstance(task, dict) else None
    return said[:120] if said else None

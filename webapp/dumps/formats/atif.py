"""ATIF's trajectories, with those of subagents as branches."""

from __future__ import annotations

from itertools import chain
from typing import Any

from webapp.dumps.base import DumpHead, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.documents import Entries, nested, with_list
from webapp.dumps.records import Problem
from webapp.dumps.sessions import each_session, entries_of
from webapp.dumps.values import as_list, as_object, first_id

_IDS = ("session_id", "trajectory_id")


class Atif(Declared):
    def sniff(self, head: DumpHead) -> int:
        versions = [str(item.get("schema_version")) for item in head.objects]
        return 95 if versions and all(version.startswith("ATIF-v") for version in versions) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object":
            yield _session(source.stem, *with_list(source, head, "steps", needed="schema_version"))
        else:
            yield from each_session(entries_of(source, head), source.stem, _listed)


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


plugin = Atif("atif")

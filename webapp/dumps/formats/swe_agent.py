"""Agents' trajectories: SWE-agent's (.traj), whose lists both hold the responses; ATIF's, with subagents' branches."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.decoding import kind_of
from webapp.dumps.documents import nested, objects
from webapp.dumps.messages.turns import each_filled, each_with, event_turns, message_turns, text_turns
from webapp.dumps.records import Problem, Turn
from webapp.dumps.source import entry_or_problem
from webapp.dumps.stream import DocumentMember, Item, ListStart, walk
from webapp.dumps.values import as_list, as_object, text

_DEMONSTRATIONS = "demonstrations"
_HOLDING = {"history": "the prompts", "trajectory": "the steps and what was observed"}
_LISTS = frozenset(_HOLDING)
_PASSED = 20
"""How many of the history's responses a step may leave out at once."""


@dataclass(slots=True)
class _Run(Conversation):
    answers: deque[tuple[int, str]] = field(default_factory=deque)
    """the history's responses, with their entries, that no step has repeated yet"""


class SweAgent(Format):
    called = "swe_agent"
    shapes = 'SWE-agent trajectories {"trajectory": […], "history": […], "info"}'
    conversation_type = _Run

    def sniff(self, head: DumpHead) -> int:
        steps, history = head.first_of("trajectory"), head.first_of("history")
        if "source" in steps and "id" in steps:
            return 0  # OpenHands' events
        if steps and ("observation" in steps or "action" in steps):
            return 95
        if "trajectory" in head.items and not steps and head.mentions("observation", "response"):
            return 95
        if head.shape == "array":
            return 80 if {"agent", "role", "content"} <= head.first_of("").keys() else 0
        alone = "role" in history and "trajectory" not in head.items
        return 85 if alone and ("agent" in history or "info" in head.keys or "is_demo" in history) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        parts = walk(source.text(), _LISTS)  # the lists are not held
        extra = {part.key: part.value for part in parts if isinstance(part, DocumentMember) and part.key not in _LISTS}
        demos = [entry[1] for entry in _history(source, head, demos=True) if not isinstance(entry, Problem)]
        if demos:
            extra[_DEMONSTRATIONS] = demos
        yield SessionEntries(source.stem, _entries(source, head), extra=extra)

    def read_entry(self, entry: dict[str, Any], conversation: _Run) -> list[Turn]:
        return _message(entry, conversation) if "role" in entry else _step(entry, conversation)


def _entries(source: Source, head: DumpHead) -> Entries:
    """The history's messages, then the trajectory's steps, then which of the two is missing: neither holds all."""
    yield from _history(source, head, demos=False)
    if head.shape == "array":
        return
    missing = dict(_HOLDING)
    for part in walk(source.text(), _LISTS):  # damage was told by the first walk
        if isinstance(part, ListStart):
            missing.pop(part.key, None)
        elif isinstance(part, Item) and part.key == "trajectory":
            yield entry_or_problem(part.at, part.value)
        elif isinstance(part, DocumentMember) and missing.pop(part.key, ""):
            yield Problem(part.key, f"expected a list, found {kind_of(part.value)}; skipped")
    for key, value in missing.items():
        yield Problem(key, f"the document has no {key}, which holds {value}; the rest was read")


def _history(source: Source, head: DumpHead, *, demos: bool) -> Entries:
    for entry in objects(walk(source.text(), _LISTS), "" if head.shape == "array" else "history"):
        if isinstance(entry, Problem) or (entry[1].get("is_demo") is True) == demos:
            yield entry


def _message(value: dict[str, Any], run: _Run) -> list[Turn]:
    calls = value.get("tool_call_ids")
    if isinstance(calls, list) and len(calls) == 1 and "tool_call_id" not in value:
        value = {**value, "tool_call_id": calls[0]}
    turns = message_turns(value, run)
    for turn in turns:
        if turn.kind == "response" and turn.raw is not None:
            run.answers.append((run.entry, turn.raw.strip()))
    return each_filled(turns, agent=text(value.get("agent")))


def _step(value: dict[str, Any], run: _Run) -> list[Turn]:
    """A step's raw response, which repeats the history's unless that was cut, and what the environment answered."""
    raw, first = value.get("response"), None
    turns = event_turns()
    if isinstance(raw, str):
        first = _first_entry(raw.strip(), run)
        turns = each_with(text_turns(raw, "assistant", run), duplicate_of=first)
    elif "action" in value:
        run.notes.append("a step without the response that it came of")
    observed = text(value.get("observation"))
    if observed is not None and first is None:
        turns.append(Turn(0, "tool_result", raw=observed, role="tool"))
    return turns


def _first_entry(response: str, run: _Run) -> int | None:
    """The entry of the history that holds this response; those passed over were never steps (or retried ones)."""
    for index, (entry, answer) in enumerate(run.answers):
        if answer == response:
            for _ in range(index + 1):
                run.answers.popleft()
            return entry
        if index > _PASSED:
            break
    return None


class Atif(Declared):
    def named(self, fallback: str, about: dict[str, Any], entries: Entries) -> SessionEntries:
        inner = about.pop("subagent_trajectories", None)
        strange = [key for key, value in about.items() if any("steps" in as_object(item) for item in as_list(value))]
        strange += ["subagent_trajectories"] if inner and not isinstance(inner, list) else []
        left_out = [Problem("the trajectory", f"{key[:40]!r} is no list of subagents' trajectories") for key in strange]
        return super().named(fallback, about, chain(_with_subagents(entries, as_list(inner)), left_out))


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


plugins = (SweAgent(), Atif("atif"))

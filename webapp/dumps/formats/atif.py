"""ATIF, Harbor's trajectories (RFC 0001): {"schema_version": "ATIF-v…", "agent", "steps"}; subagents are branches."""

from __future__ import annotations

from itertools import chain
from typing import Any

from webapp.dumps.base import Context, Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.documents import Entries, nested, with_list
from webapp.dumps.messages.calls import listed_calls
from webapp.dumps.messages.pieces import Piece, content, joined
from webapp.dumps.messages.turns import each_filled, each_with, result_turns, turns_of, with_usage
from webapp.dumps.records import Problem
from webapp.dumps.sessions import each_session, entries_of
from webapp.dumps.values import as_list, as_object, first_id, first_text, text, whole

_ROLES = {"agent": "assistant", "user": "user", "system": "system"}
_IDS = ("session_id", "trajectory_id")


class Atif(Format):
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


plugin = Atif()


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
    for index, call in enumerate(calls):
        name, ident = text(call.get("function_name")), text(call.get("tool_call_id"))
        pieces.append(Piece.of_call(call.get("arguments"), ("tool_calls", index, "arguments"), name, ident, dict(call)))
    if "message" not in entry:
        conversation.notes.append(f"a step without a message (its keys: {', '.join(map(repr, entry))})")
    turns = turns_of(pieces, role, conversation, model=text(entry.get("model_name")))
    for result in as_list(as_object(entry.get("observation")).get("results")):
        answer, _ = joined(content(as_object(result).get("content"), ()))
        if answer is not None:
            turns += result_turns(answer, (), conversation, None, text(as_object(result).get("source_call_id")))
    return turns

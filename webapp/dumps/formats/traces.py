"""Traces as programs and tracers keep them: LangSmith's runs, Weave's calls, spans of OpenAI's Agents SDK."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Entry, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.linked_turns import Side
from webapp.dumps.messages.bodies import is_answer
from webapp.dumps.messages.exchanges import exchange
from webapp.dumps.messages.pieces import Piece, text_or_json
from webapp.dumps.messages.turns import (
    each_filled,
    error_turns,
    event_turns,
    result_turns,
    text_turns,
    turns_of,
    with_usage,
)
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import microseconds, spilled
from webapp.dumps.values import as_list, as_object, first_id, id_text, text

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


_ANSWERS = ("generation", "response")


@dataclass(slots=True)
class _Trace(Declaring):
    calls: Counter[tuple[str | None, str | None]] = field(default_factory=Counter)
    """calls that answers held, by tool and arguments: a function's span says them again"""
    ran: bool = False
    """whether the span is a tool's run, whose result the next question holds again"""


class AgentsSdk(Declared):
    conversation_type = _Trace

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        traces: dict[str, dict[str, Any]] = {}
        with spilled() as aside:
            problems = []
            for entry in self.entries(source, head):
                if isinstance(entry, Problem):
                    problems.append(entry)
                elif entry[1].get("object") == "trace":
                    traces[id_text(entry[1].get("id")) or source.stem] = entry[1]
                else:
                    name = id_text(entry[1].get("trace_id")) or source.stem
                    aside.put(name, microseconds(entry[1].get("started_at")), *entry)
            for name, entries in aside.sessions():
                trace = traces.pop(name, {})
                yield SessionEntries(name, entries, text(trace.get("workflow_name")), extra=trace)
            for name, trace in traces.items():
                yield SessionEntries(name, (), text(trace.get("workflow_name")), extra=trace)
            yield from problems

    def read_entry(self, entry: dict[str, Any], conversation: _Trace) -> list[Turn]:  # type: ignore[override]
        beside = {key: entry[key] for key in ("input", "response") if entry.get(key)}  # by a processor of one's own
        data, error = {**beside, **as_object(entry.get("span_data"))}, entry.get("error")
        conversation.ran = data.get("type") == "function"
        if not conversation.ran and data.get("type") not in _ANSWERS:
            return super().read_entry(entry, conversation)
        turns = (_called if conversation.ran else _answered)(data, error, conversation)
        return [*turns, *error_turns(error, data["type"])] if error else turns

    def side(self, turn: Turn, conversation: _Trace) -> Side | None:
        """A tool's result comes by its span and in the next question."""
        return ("tool", int(conversation.ran)) if turn.kind == "tool_result" and turn.raw else None


def _answered(data: dict[str, Any], error: Any, conversation: _Trace) -> list[Turn]:
    """What was asked anew and what was answered; of a response the SDK's own exporter sends its id alone."""
    fields = {key: value for key, value in data.items() if key not in ("input", "type")}
    turns = exchange(data, fields, conversation)
    if isinstance(data.get("output"), str):
        turns += text_turns(data["output"], "assistant", conversation)
    conversation.calls.update((turn.agent, turn.raw) for turn in turns if turn.kind == "tool_call")
    if not any(turn.written_by_model for turn in turns):
        conversation.notes.clear()  # what the exchange says of it is said better here, or by the error
        if not error:
            conversation.notes.append(_without_answer(data))
        turns += event_turns(text(data.get("type")), phase=first_id(data, "response_id"))
    elif not any(turn.tokens_out for turn in turns):
        turns = with_usage(turns, data.get("usage"))
    return turns


def _without_answer(data: dict[str, Any]) -> str:
    ident = first_id(data, "response_id")
    if data.get("type") == "response" and ident and not isinstance(data.get("response"), dict):
        return f"the answer is not in the trace: of the response {ident[:80]!r} it has only the id"
    keys = ", ".join(repr(str(key)[:40]) for key in list(data)[:12])
    return f"no answer in the span of type {data.get('type')!r} (its keys: {keys})"


def _called(data: dict[str, Any], error: Any, conversation: _Trace) -> list[Turn]:
    """A tool's run: its call too where no answer of the trace holds it, then what came of it."""
    name, raw = text(data.get("name")), text_or_json(data.get("input"))
    turns: list[Turn] = []
    if conversation.calls[(name, raw)]:
        conversation.calls[(name, raw)] -= 1
    elif raw is not None:
        call = Piece("call", raw, name, None, {"name": name, "arguments": raw})
        turns = turns_of([call], "assistant", conversation)
    if error and data.get("output") is None:
        return turns
    return [*turns, *result_turns(data.get("output"), conversation, name)]


plugins = (LangSmith("langsmith"), Weave("weave"), AgentsSdk("agents_sdk"))

"""LangSmith's runs: one a line, a list, or batches {"post", "patch"} as its SDK sends them; llm runs are answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Entry, Format, PlacedTurn, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.bodies import exchange, unanswered
from webapp.dumps.messages.langchain import generations_body, is_message, plain_messages, unread_generations, unwrapped
from webapp.dumps.messages.turn_values import each_filled, unplaced, with_usage
from webapp.dumps.messages.turns import error_turns, event_turns, note_unknown_kind, result_turns
from webapp.dumps.records import Problem
from webapp.dumps.sessions import by_time, page_entries
from webapp.dumps.values import as_list, as_object, first_id, first_text, text

_THREADS = ("thread_id", "session_id", "conversation_id")
_KINDS = ("chain", "retriever", "embedding", "prompt", "parser")
"""of runs in which no model answers"""
_BATCH = ("post", "patch")
_TEXTS = ("inputs", "outputs", "extra")


class LangSmith(Format):
    shapes = 'LangSmith\'s runs {"run_type", "inputs", "outputs", "trace_id"} one a line, or {"post", "patch"}'
    id_key, id_name = "id", "run id"
    times = ("start_time",)

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object" and _is_run(head.first_of("runs")):
            return 92
        runs = [run for sample in head.objects for run in _runs(sample) or [{}]]
        return 92 if runs and all(map(_is_run, runs)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        runs = map(_parsed, _joined(page_entries(source, head, "runs")))
        yield from by_time(runs, lambda run: _session(run) or source.stem, lambda run: run.get("start_time"))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        turns = _run(entry, conversation)
        error, name = text(entry.get("error")), text(entry.get("name"))
        if error is not None:
            turns = [placed for placed in turns if placed[0].raw is not None or placed[0].kind == "prompt"]
            turns += error_turns(error, path=("error",))
        return each_filled(turns, phase=name, parent=text(entry.get("parent_run_id")))


plugin = LangSmith()


def _runs(value: dict[str, Any]) -> list[dict[str, Any]]:
    if any(isinstance(value.get(key), list) for key in _BATCH):
        return [run for key in _BATCH for run in as_list(value.get(key)) if isinstance(run, dict)]
    return [value]


def _is_run(value: dict[str, Any]) -> bool:
    started = "run_type" in value and ("inputs" in value or "outputs" in value)
    return started or ("dotted_order" in value and "trace_id" in value)


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


def _session(run: dict[str, Any]) -> str | None:
    metadata = as_object(as_object(run.get("extra")).get("metadata"))
    return first_id(metadata, *_THREADS) or first_id(run, "trace_id", "id")


def _run(run: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    kind = run.get("run_type")
    if kind == "llm":
        return _answers(run, conversation)
    if kind == "tool":
        outputs = run.get("outputs")
        result = as_object(outputs).get("output", outputs)
        inner = unwrapped(result)[0].get("content") if is_message(result) else result
        return result_turns(inner, (), conversation, text(run.get("name")))
    if kind not in _KINDS:
        note_unknown_kind(kind, conversation)
    return event_turns(text(kind))


def _answers(run: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    inputs, outputs = as_object(run.get("inputs")), run.get("outputs")
    request = {**inputs, "messages": plain_messages(inputs.get("messages"))}
    if isinstance(inputs.get("prompts"), list):
        request["messages"] = [{"role": "user", "content": prompt} for prompt in inputs["prompts"]]
    metadata = as_object(as_object(run.get("extra")).get("metadata"))
    llm_output = as_object(as_object(outputs).get("llm_output"))
    conversation.model = first_text(llm_output, "model_name") or first_text(metadata, "ls_model_name")
    usage = {"input": run.get("prompt_tokens"), "output": run.get("completion_tokens")}
    body = outputs if isinstance(outputs, dict) else None
    conversation.notes.extend(unread_generations(body or {}))
    turns = unplaced(exchange(request, generations_body(body) if body else None, (), (), conversation))
    if not run.get("error"):
        unanswered(run, turns, conversation)
    return with_usage(turns, usage, run.get("total_cost"))

"""Kimi CLI's wire.jsonl {"timestamp", "message": {"type", "payload"}}, `kimi --wire`, and its context.jsonl."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from webapp.dumps.base import Entries, Entry, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.head import DumpHead
from webapp.dumps.messages.pieces import Piece, call
from webapp.dumps.messages.turns import each_filled, turns_of
from webapp.dumps.records import Problem, Turn
from webapp.dumps.values import as_list, as_object, first_text, moment, text

_RUN = "lines"
"""the key of lines that are one: parts of a text, or a call and the rest of its arguments, as a stream has them"""
_AGENTS = ("subagent_type", "agent_id", "parent_tool_call_id", "task_tool_call_id")


class KimiWire(Declared):
    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        for session in super().sessions(source, head):
            yield session if isinstance(session, Problem) else replace(session, entries=_with_runs(session.entries))

    def read_entry(self, entry: dict[str, Any], conversation: Declaring) -> list[Turn]:
        lines = [as_object(line) for line in as_list(entry.get(_RUN))]
        if not lines:
            return super().read_entry(entry, conversation)
        turns = turns_of([_joined([_innermost(line)[0] for line in lines])], "assistant", conversation)
        return each_filled(turns, sent_at=moment(lines[0].get("timestamp")), phase=_innermost(lines[0])[1])


plugin = KimiWire("kimi_wire")


def _innermost(line: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """A line's message, or the one that a subagent's holds, with the subagent."""
    message, agent = next((line[key] for key in ("message", "params") if isinstance(line.get(key), dict)), line), None
    while message.get("type") == "SubagentEvent" and isinstance(as_object(message.get("payload")).get("event"), dict):
        agent, message = first_text(message["payload"], *_AGENTS), message["payload"]["event"]
    return message, agent


def _joins(line: dict[str, Any]) -> tuple[str, str | None] | None:
    """What the line may be a part of."""
    message, agent = _innermost(line)
    if message.get("type") == "ContentPart" and (part := as_object(message.get("payload"))).keys() & {"text", "think"}:
        return str(part.get("type")), agent
    return ("call", agent) if message.get("type") in ("ToolCall", "ToolCallPart") else None


def _with_runs(entries: Iterable[Entry | Problem]) -> Entries:
    """The entries, with lines that are parts of one text or call as one, where the first stood."""
    run: list[Entry | Problem] = []
    last = None
    for entry in entries:
        value = {} if isinstance(entry, Problem) else entry[1]
        joins = _joins(value)
        if run and (joins is None or joins != last or _innermost(value)[0].get("type") == "ToolCall"):
            yield _as_one(run)
            run = []
        last = joins
        run.append(entry)
    if run:
        yield _as_one(run)


def _as_one(run: list[Entry | Problem]) -> Entry | Problem:
    lines = [entry for entry in run if not isinstance(entry, Problem)]
    return run[0] if len(run) == 1 else (lines[0][0], {_RUN: [line for _, line in lines]})


def _joined(messages: list[dict[str, Any]]) -> Piece:
    parts = [as_object(message.get("payload")) for message in messages]
    if messages[0].get("type") == "ContentPart":
        key = "think" if "think" in parts[0] else "text"
        return Piece("thinking" if key == "think" else "text", "".join(text(part.get(key)) or "" for part in parts))
    first = call(parts[0])
    rest = "".join(text(part.get("arguments_part")) or "" for part in parts)
    return Piece("call", f"{first.text or ''}{rest}", first.name, first.id, first.call)

"""Kimi CLI's wire.jsonl {"timestamp", "message": {"type", "payload"}}, `kimi --wire`, and its context.jsonl."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from webapp.dumps.base import NATIVE, Conversation, DumpHead, Entries, Entry, Format, PlacedTurn, Source
from webapp.dumps.messages.pieces import Path, Piece, call, content, joined, text_or_json
from webapp.dumps.messages.turn_values import each_filled, unplaced, with_usage
from webapp.dumps.messages.turns import error_turns, event_turns, message_turns, turns_of
from webapp.dumps.records import Problem
from webapp.dumps.sessions import SessionEntries, Sessions, grouped
from webapp.dumps.values import as_list, as_object, first_text, moment, number, text

_TYPES = (
    *("TurnBegin", "SteerInput", "TurnEnd", "StepBegin", "StepInterrupted", "CompactionBegin", "CompactionEnd"),
    *("StatusUpdate", "ContentPart", "ToolCall", "ToolCallPart", "ToolResult", "ApprovalRequest", "ApprovalResponse"),
    *("ApprovalRequestResolved", "SubagentEvent", "ToolCallRequest", "QuestionRequest", "PlanDisplay", "Notification"),
    *("HookTriggered", "HookResolved", "MCPLoadingBegin", "MCPLoadingEnd", "StepRetry"),
)
_CONTEXT = ("_checkpoint", "_usage", "_system_prompt")
"""roles of a context.jsonl that are no speaker's"""
_RUN = "lines"
"""the key of lines that are one: parts of a text, or a call and the rest of its arguments, as a stream has them"""
_INPUT = ("input_other", "input_cache_read", "input_cache_creation")


class KimiWire(Format):
    home = NATIVE
    shapes = 'Kimi CLI\'s wire.jsonl {"timestamp", "message": {"type": "ContentPart", "payload"}} one a line'

    def sniff(self, head: DumpHead) -> int:
        marked = any(_message(line)[0].get("type") in _TYPES or line.get("role") in _CONTEXT for line in head.objects)
        return 93 if head.shape in ("lines", "object") and marked else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        for session in grouped(source, head, self.session_of):
            if isinstance(session, SessionEntries):
                yield SessionEntries(session.name, _with_runs(session.entries))
            else:
                yield session

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        lines = [as_object(line) for line in as_list(entry.get(_RUN))] or [entry]
        message, at, agent = _innermost(lines[0])
        if _RUN in entry:
            piece = _joined([_innermost(line)[0] for line in lines])
            turns = unplaced(turns_of([piece], "assistant", conversation))
        elif "role" in entry:
            turns = _of_context(entry, conversation)
        elif message:
            turns = _turns(message, at, conversation)
        else:
            turns = _around(entry)
        return each_filled(turns, sent_at=moment(lines[0].get("timestamp")), phase=agent)


plugin = KimiWire()


def _message(line: dict[str, Any]) -> tuple[dict[str, Any], Path]:
    """What a line's message says, and where it stands; nothing in a line around messages."""
    for key in ("message", "params"):
        inner = line.get(key)
        if isinstance(inner, dict) and isinstance(inner.get("type"), str) and "payload" in inner:
            return inner, (key,)
    return (line, ()) if isinstance(line.get("payload"), dict) and line.get("type") in _TYPES else ({}, ())


def _innermost(line: dict[str, Any]) -> tuple[dict[str, Any], Path, str | None]:
    """The message, or the one that a subagent's holds, with its place and the subagent."""
    message, at = _message(line)
    agent = None
    while message.get("type") == "SubagentEvent" and isinstance(as_object(message.get("payload")).get("event"), dict):
        payload = message["payload"]
        agent = first_text(payload, "subagent_type", "agent_id", "parent_tool_call_id", "task_tool_call_id")
        message, at = payload["event"], (*at, "payload", "event")
    return message, at, agent


def _joins(line: dict[str, Any]) -> tuple[str, str | None] | None:
    """What the line may be a part of."""
    message, _, agent = _innermost(line)
    if message.get("type") == "ContentPart" and (part := as_object(message.get("payload"))).keys() & {"text", "think"}:
        return str(part.get("type")), agent
    return ("call", agent) if message.get("type") in ("ToolCall", "ToolCallPart") else None


def _with_runs(entries: Iterable[Entry | Problem]) -> Entries:
    """The entries, with lines that are parts of one text or call as one, where the first stood."""
    run: list[Entry] = []
    last = None
    for entry in entries:
        value = {} if isinstance(entry, Problem) else entry[1]
        joins = _joins(value)
        if run and (joins is None or joins != last or _innermost(value)[0].get("type") == "ToolCall"):
            yield _as_one(run)
            run = []
        last = joins
        if joins is None or isinstance(entry, Problem):
            yield entry
        else:
            run.append(entry)
    if run:
        yield _as_one(run)


def _as_one(run: list[Entry]) -> Entry:
    return run[0] if len(run) == 1 else (run[0][0], {_RUN: [line for _, line in run]})


def _joined(messages: list[dict[str, Any]]) -> Piece:
    parts = [as_object(message.get("payload")) for message in messages]
    if messages[0].get("type") == "ContentPart":
        key = "think" if "think" in parts[0] else "text"
        return Piece("thinking" if key == "think" else "text", "".join(text(part.get(key)) or "" for part in parts))
    first = call(parts[0], ())
    rest = "".join(text(part.get("arguments_part")) or "" for part in parts)
    return Piece("call", f"{first.text or ''}{rest}", None, first.name, first.id, first.call)


def _turns(message: dict[str, Any], at: Path, conversation: Conversation) -> list[PlacedTurn]:
    kind, payload, inside = str(message.get("type")), as_object(message.get("payload")), (*at, "payload")
    if kind in ("TurnBegin", "SteerInput"):
        return turns_of(content(payload.get("user_input"), (*inside, "user_input")), "user", conversation)
    if kind == "ContentPart" and isinstance(payload.get("think"), str):
        return turns_of([Piece("thinking", payload["think"], (*inside, "think"))], "assistant", conversation)
    if kind == "ContentPart":
        pieces = content(payload, inside)
        return turns_of(pieces, "assistant", conversation) if pieces else event_turns(kind)
    if kind == "ToolCall":
        return turns_of([call(payload, inside)], "assistant", conversation)
    if kind == "ToolCallPart":
        part, path = text(payload.get("arguments_part")), (*inside, "arguments_part")
        return turns_of([Piece("call", part, path, None, None, dict(payload))], "assistant", conversation)
    if kind == "ToolResult":
        return turns_of([_result(payload, inside)], "tool", conversation)
    if kind not in _TYPES and payload:
        keys = ", ".join(repr(key[:40]) for key in list(payload)[:12])
        conversation.notes.append(f"a message of type {kind[:40]!r} is not known (its keys: {keys}); kept as an event")
    return _event(kind, payload, inside)


def _event(kind: str, payload: dict[str, Any], at: Path) -> list[PlacedTurn]:
    key = next((key for key in ("content", "body", "description") if text(payload.get(key))), None)
    raw = payload[key] if key else None
    turns = event_turns(kind, raw, (*at, key) if key else None)
    usage = as_object(payload.get("token_usage"))
    input_tokens = sum(int(number(usage.get(key)) or 0) for key in _INPUT)
    return with_usage(turns, {"input": input_tokens, "output": usage.get("output")}) if usage else turns


def _result(payload: dict[str, Any], at: Path) -> Piece:
    key = "return_value" if "return_value" in payload else "result"
    value = as_object(payload.get(key))
    output_key = "output" if value.get("output") else "message"
    if isinstance(value.get(output_key), list):
        raw, path = joined(content(value[output_key], (*at, key, output_key)))
    else:
        raw, path = text_or_json(value.get(output_key), (*at, key, output_key))
    return Piece("result", raw, path, None, text(payload.get("tool_call_id")))


def _of_context(line: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    """A line of context.jsonl: a message, or what the program notes between them."""
    role = text(line.get("role"))
    if role == "_system_prompt":
        return turns_of(content(line.get("content"), ("content",)), "system", conversation)
    return event_turns(role) if role in _CONTEXT else message_turns(line, conversation)


def _around(line: dict[str, Any]) -> list[PlacedTurn]:
    """A line around messages: the log's version, or an answer of the protocol."""
    if line.get("error"):
        return error_turns(line["error"], "error")
    return event_turns(first_text(line, "type", "method") or "result")

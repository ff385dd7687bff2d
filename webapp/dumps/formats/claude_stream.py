"""What Claude Code's CLI, and Cursor's, print as stream-json: messages, whole or in pieces, then the result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.messages.pieces import Piece, content, joined, text_or_json
from webapp.dumps.messages.turns import (
    each_with,
    event_turns,
    message_turns,
    spent,
    text_turns,
    turns_of,
)
from webapp.dumps.records import Kind, Turn
from webapp.dumps.values import as_list, as_object, first_text, id_text, number, text

_MESSAGES = ("assistant", "user")


@dataclass(slots=True)
class _Stream(Declaring):
    branches: dict[str, int] = field(default_factory=dict)
    """the subagent's number by the id of the call that started it"""
    counted: set[str] = field(default_factory=set)
    """the messages whose usage was counted; a message comes in several lines, a block each"""
    answer: str | None = None
    """the last answer, which the result repeats"""
    parts: list[str] = field(default_factory=list)
    """what came of an answer in parts, until it comes whole"""

    def unfinished(self) -> str | None:
        raw = "".join(self.parts)
        return f"the stream ends within an answer; of it no more came than {raw[:200]!r}" if raw else None


class ClaudeStream(Declared):
    conversation_type = _Stream

    def read_entry(self, entry: dict[str, Any], conversation: _Stream) -> list[Turn]:  # type: ignore[override]
        kind = entry.get("type")
        if kind == "stream_event":
            delta = as_object(as_object(entry.get("event")).get("delta"))
            conversation.parts.append(first_text(delta, "text", "partial_json") or "")
        if kind == "assistant" and _is_part(entry):
            conversation.parts.append(joined(content(entry["message"].get("content"))) or "")
            return event_turns("assistant/part")
        if kind in _MESSAGES and isinstance(entry.get("message"), dict):
            return _message(entry, conversation)
        if kind == "tool_call":
            return _tool_call(entry, conversation)
        if kind == "result":
            return _result(entry, conversation)
        conversation.model = text(entry.get("model")) or conversation.model
        role = "/".join(name for key in ("type", "subtype") if (name := text(entry.get(key))))
        return event_turns(role or None)

    def checked(self, entry: dict[str, Any]) -> dict[str, Any]:
        return {} if _is_part(entry) else entry


def _is_part(entry: dict[str, Any]) -> bool:
    """A piece of an answer, as Cursor's agent prints it with --stream-partial-output before the whole."""
    return "timestamp_ms" in entry and "model_call_id" not in entry and isinstance(entry.get("message"), dict)


def _message(entry: dict[str, Any], stream: _Stream) -> list[Turn]:
    message = {"role": entry["type"], **entry["message"]}
    ident, once = id_text(message.get("id")), {}
    if ident is None or ident not in stream.counted:
        once = spent(message.get("usage"))
        stream.counted.add(ident or "")
    turns = message_turns(message, stream, once=once, model=text(message.get("model")))
    stream.answer = next((turn.raw for turn in turns if turn.kind == "response"), stream.answer)
    parent = text(entry.get("parent_tool_use_id"))
    branch = stream.branches.setdefault(parent, len(stream.branches) + 1) if parent else None
    return each_with([*_left_over(stream, turns), *turns], sounding=branch)


def _left_over(stream: _Stream, turns: list[Turn]) -> list[Turn]:
    """What came in parts and does not come whole: an answer before what comes now."""
    raw = "".join(stream.parts)
    whole = "".join(turn.raw or "" for turn in turns)
    stream.parts.clear()
    if not raw.strip() or raw in whole or (whole and raw.startswith(whole)):
        return []
    if any(turn.role == "thinking" or turn.kind == "tool_call" for turn in turns):
        return []  # a block of the same message, whose parts are of other kinds
    stream.answer = raw
    return text_turns(raw, "assistant", stream)


def _tool_call(entry: dict[str, Any], stream: _Stream) -> list[Turn]:
    """A call of Cursor's agent, begun or ended, `{nameToolCall: {args, result}}`; its stream is Claude Code's else."""
    name, inner = next(iter(as_object(entry.get("tool_call")).items()), ("", None))
    ident, subtype = id_text(entry.get("call_id")), text(entry.get("subtype"))
    function = as_object(inner)
    called = text(function.get("name")) or name.removesuffix("ToolCall")
    key = "args" if "args" in function else "arguments"
    parts = []
    if ident is None or ident not in stream.called:
        call = {"id": ident, "name": called, "arguments": function.get(key)}
        parts.append(Piece.of_call(function.get(key), called, ident, call))
        stream.called.add(ident or "")
    if subtype != "started" and function.get("result") is not None:
        parts.append(Piece.of_result(function["result"], called, ident))
    return turns_of(parts, "assistant", stream) if parts else event_turns(f"tool_call/{subtype}")


def _result(entry: dict[str, Any], stream: _Stream) -> list[Turn]:
    """What the run came to: the answer again, its cost, or the error that ended it."""
    raw = text(entry.get("result"))
    failed = entry.get("is_error") is True
    if not raw and not failed and stream.answer is None and not stream.tools:  # it stands in no call before
        raw = text_or_json(entry.get("structured_output"))
    if raw is None or (raw == stream.answer and not failed):
        raw = _failure(entry) if failed else None
    kind: Kind = "error" if failed else "event" if raw is None or stream.answer is not None else "response"
    role = {"error": "error", "event": "result"}.get(kind, "assistant")
    model = stream.model if kind == "response" else None
    return [Turn(0, kind, raw, role, model=model, cost=number(entry.get("total_cost_usd")))]


def _failure(entry: dict[str, Any]) -> str | None:
    """What a result says of its failure: an error, a list of them, or its kind alone."""
    errors = [raw for error in as_list(entry.get("errors")) if (raw := text_or_json(error))]
    return text(as_object(entry.get("error")).get("message")) or "\n".join(errors) or text(entry.get("subtype"))


plugin = ClaudeStream("claude_stream")

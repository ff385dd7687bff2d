"""What one OpenAI message says: its text, and each tool call's arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from webapp.dumps.base import number, text, whole
from webapp.dumps.records import Kind, Turn
from webapp.dumps.times import moment

Path = tuple[str | int, ...]
Found = tuple[Turn, Path | None]
"""A turn, not yet numbered, and where its text stands in the entry word for word."""

_KINDS: dict[str, Kind] = {
    "assistant": "response",
    "system": "prompt",
    "developer": "prompt",
    "user": "prompt",
    "tool": "tool_result",
    "function": "tool_result",
}
_TEXT_PARTS = ("text", "output_text", "input_text", "refusal")
_TIMES = ("timestamp", "created_at", "created")


@dataclass(slots=True)
class State:
    """What later messages of a session need of earlier ones."""

    model: str | None = None
    tools: dict[str, str] = field(default_factory=dict)
    """the tool's name by the id of its call"""
    asked: list[str] = field(default_factory=list)
    """the messages of the last request, as JSON: the next one repeats them"""


def message_turns(message: dict[str, Any], state: State, base: Path = ()) -> list[Found]:
    """A message's text as one turn, then each of its tool calls as one more."""
    role = message.get("role")
    role = role if isinstance(role, str) else None
    calls = list(_calls(message, state))
    raw, path = _text(message)
    kind = _KINDS.get(role or "", "event")
    found: list[Found] = []
    if not calls or raw:
        answered = text(message.get("tool_call_id"))
        name = text(message.get("name")) or (state.tools.get(answered) if answered else None)
        own = turn_of(message, kind, role, state, raw=raw, agent=name, parent=answered)
        found.append((own, None if path is None else (*base, *path)))
    for call, name, arguments, at in calls:
        turn = turn_of(message, "tool_call", role, state, raw=arguments, agent=name, tool_calls=[call])
        if found:  # what the message cost is counted once
            turn = replace(turn, tokens_in=None, tokens_out=None, cost=None)
        found.append((turn, None if at is None or arguments is None else (*base, *at)))
    return found


def turn_of(message: dict[str, Any], kind: Kind, role: str | None, state: State, **more: Any) -> Turn:
    usage = message.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    written = kind in ("response", "tool_call")
    return Turn(
        entry=0,
        kind=kind,
        role=role,
        model=(text(message.get("model")) or state.model) if written else None,
        sent_at=next((found for name in _TIMES if (found := moment(message.get(name)))), None),
        tokens_in=whole(usage.get("prompt_tokens", usage.get("input_tokens"))),
        tokens_out=whole(usage.get("completion_tokens", usage.get("output_tokens"))),
        cost=number(message.get("cost")),
        phase=text(message.get("phase")),
        round=whole(message.get("round")),
        attempt=whole(message.get("attempt")),
        **more,
    )


def _text(message: dict[str, Any]) -> tuple[str | None, Path | None]:
    """A message's text, and where it stands word for word: text parts are joined, and one alone has its place."""
    content = message.get("content")
    if isinstance(content, str):
        return content, ("content",)
    if isinstance(content, list):
        return _parts(content)
    if content is None:
        refusal = message.get("refusal")
        return (refusal, ("refusal",)) if isinstance(refusal, str) else (None, None)
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")), None


def _parts(content: list[Any]) -> tuple[str | None, Path | None]:
    found: list[tuple[str, Path]] = []
    for index, part in enumerate(content):
        if isinstance(part, str):
            found.append((part, ("content", index)))
        elif isinstance(part, dict) and part.get("type") in _TEXT_PARTS:
            key = "refusal" if part["type"] == "refusal" else "text"
            if isinstance(part.get(key), str):
                found.append((part[key], ("content", index, key)))
    if len(found) == 1:
        return found[0]
    return ("".join(piece for piece, _ in found) if found else None), None


def _calls(message: dict[str, Any], state: State) -> Iterator[tuple[Any, str | None, str | None, Path | None]]:
    """Each call with its tool, its arguments as the model wrote them, and where those stand."""
    calls = message.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list) else []):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            name = text(function.get("name"))
            if name and isinstance(call.get("id"), str):
                state.tools[call["id"]] = name
            copied = {**call, "function": {**function}}
            yield _call(copied, name, function.get("arguments"), ("tool_calls", index, "function", "arguments"))
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        yield _call({**legacy}, text(legacy.get("name")), legacy.get("arguments"), ("function_call", "arguments"))


def _call(call: Any, name: str | None, arguments: Any, path: Path) -> tuple[Any, str | None, str | None, Path | None]:
    if isinstance(arguments, str):
        return call, name, arguments, path
    written = None if arguments is None else json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    return call, name, written, None

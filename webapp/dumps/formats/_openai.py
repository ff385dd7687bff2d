"""What one OpenAI message, or a whole request and response, says: its text and each tool call's arguments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from webapp.dumps.base import Context, Entry, number, text, whole
from webapp.dumps.records import Kind, Problem, Turn
from webapp.dumps.times import moment

Path = tuple[str | int, ...]

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


def turns(entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
    """The turns of a session's entries: messages, or exchanges of a request and its response."""
    state = State(model=text(context.get("model")))
    count = 0
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        yield from _first_has_source(count, entry[1], _turns_of(entry[1], state))
        count += 1


def _turns_of(value: dict[str, Any], state: State) -> list[tuple[Turn, Path | None]]:
    if "role" in value:
        return _message(value, state)
    return _exchange(value, state) or [(Turn(0, "event"), None)]


def _first_has_source(count: int, source: dict[str, Any], found: list[tuple[Turn, Path | None]]) -> Iterator[Turn]:
    """Number the entry's turns; the first carries the entry, with None where its own text stands."""
    for index, (turn, path) in enumerate(found):
        if index:
            yield replace(turn, entry=count)
        elif path is None:
            yield replace(turn, entry=count, source=source)
        else:
            _take_out(source, path)
            yield replace(turn, entry=count, source=source, raw_at=path)


def _take_out(value: Any, path: Path) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = None


def _message(message: dict[str, Any], state: State, base: Path = ()) -> list[tuple[Turn, Path | None]]:
    """A message's text as one turn, then each of its tool calls as one more."""
    role = message.get("role")
    role = role if isinstance(role, str) else None
    calls = list(_calls(message, state))
    raw, path = _text(message)
    kind = _KINDS.get(role or "", "event")
    found: list[tuple[Turn, Path | None]] = []
    if not calls or raw:
        answered = text(message.get("tool_call_id"))
        name = text(message.get("name")) or (state.tools.get(answered) if answered else None)
        own = _turn(message, kind, role, state, raw=raw, agent=name, parent=answered)
        found.append((own, None if path is None else (*base, *path)))
    for call, name, arguments, at in calls:
        turn = _turn(message, "tool_call", role, state, raw=arguments, agent=name, tool_calls=[call])
        found.append((turn, None if at is None or arguments is None else (*base, *at)))
    return found


def _turn(message: dict[str, Any], kind: Kind, role: str | None, state: State, **more: Any) -> Turn:
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


def _exchange(value: dict[str, Any], state: State) -> list[tuple[Turn, Path | None]]:
    """A request's new messages, then the choices of its response; the entry's own text is not taken out."""
    request = value.get("request")
    response = value.get("response", value)
    state.model = text(_get(response, "model")) or text(_get(request, "model")) or state.model
    messages = _get(request, "messages")
    found = list(_new(messages if isinstance(messages, list) else [], state))
    choices = _get(response, "choices")
    for choice in choices if isinstance(choices, list) else []:
        message = _get(choice, "message")
        if isinstance(message, dict):
            found.extend(_message(message, state))
    return [(turn, None) for turn, _ in found]


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _new(messages: list[Any], state: State) -> Iterator[tuple[Turn, Path | None]]:
    """The messages of a request that the one before did not hold; answers among them were seen as responses."""
    written = [json.dumps(message, sort_keys=True) for message in messages]
    same = 0
    for old, new in zip(state.asked, written, strict=False):
        if old != new:
            break
        same += 1
    again = bool(state.asked) and same == len(state.asked)
    state.asked = written
    for message in messages[same:]:
        if isinstance(message, dict) and not (again and message.get("role") == "assistant"):
            yield from _message(message, state)

"""What an OpenTelemetry span says of a request: its messages, wherever instrumentations put them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import text
from webapp.dumps.formats._attributes import Attributes, opened
from webapp.dumps.formats._chat import Path, Piece

_PROMPT_EVENTS = ("system", "user", "assistant", "tool")


@dataclass(slots=True)
class Span:
    """A span's attributes and those of its events, by the event's name."""

    value: dict[str, Any]
    own: Attributes
    events: list[tuple[str, Attributes]] = field(default_factory=list)


def opened_span(entry: dict[str, Any]) -> Span:
    """The span of an entry `{"resource", "scope", "span"}`."""
    span = entry.get("span")
    value = span if isinstance(span, dict) else {}
    found = Span(value, Attributes(value.get("attributes"), ("span", "attributes")))
    events = value.get("events")
    for index, event in enumerate(events if isinstance(events, list) else []):
        if isinstance(event, dict):
            at = ("span", "events", index, "attributes")
            found.events.append((str(event.get("name")), Attributes(event.get("attributes"), at)))
    return found


def asked_of(span: Span) -> Iterator[dict[str, Any]]:
    """The messages of the request, from the first place that has some."""
    own = span.own
    for key in ("gen_ai.system_instructions", "gen_ai.system.instructions"):
        if own.first(key):
            yield {"role": "system", "content": opened(own.first(key))}
    for key in ("gen_ai.input.messages", "gen_ai.prompt", "ai.prompt.messages", "ai.prompt"):
        found = [own.first(key), *(event.first(key) for _, event in span.events)]
        if value := next((value for value in found if value), None):
            yield from _messages(opened(value))
            return
    for prefix, inner in (("gen_ai.prompt", ""), ("llm.input_messages", "message.")):
        if listed := own.indexed(prefix):
            yield from (_asked_message({key.removeprefix(inner): pair for key, pair in one.items()}) for one in listed)
            return
    for name, event in span.events:
        role = name.removeprefix("gen_ai.").removesuffix(".message")
        if role in _PROMPT_EVENTS and event.first("content") is not None:
            yield {"role": role, "content": event.first("content"), "tool_call_id": event.first("id")}


def _messages(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if isinstance(value, list):
        yield from (message for message in value if isinstance(message, dict))
    else:
        yield {"role": "user", "content": value.get("prompt", value) if isinstance(value, dict) else value}


def _asked_message(message: dict[str, tuple[Any, Path | None]]) -> dict[str, Any]:
    said = [piece for piece in flat_message(message) if piece.what != "thinking"]
    calls = [{"id": one.id, "function": {"name": one.name, "arguments": one.text}} for one in said if one.call]
    content = "".join(piece.text or "" for piece in said if piece.what == "text")
    role, answered = (message.get(key, (None, None))[0] for key in ("role", "tool_call_id"))
    return {"role": role or "user", "content": content, "tool_calls": calls, "tool_call_id": answered}


def flat_message(message: dict[str, tuple[Any, Path | None]]) -> Iterator[Piece]:
    """What a message says whose parts are attributes of their own: `content`, `tool_calls.M.name` …"""
    for key in ("reasoning", "content", *sorted(key for key in message if key.startswith("contents."))):
        raw, path = message.get(key, (None, None))
        if isinstance(raw, str) and (key in ("reasoning", "content") or key.endswith("message_content.text")):
            yield Piece("thinking" if key == "reasoning" else "text", raw, path)
    calls: dict[str, dict[str, tuple[Any, Path | None]]] = {}
    for key, value in message.items():
        head, _, rest = key.partition(".")
        if head in ("tool_calls", "function_call"):
            number, _, name = rest.partition(".") if head == "tool_calls" else ("", "", rest)
            calls.setdefault(number, {})[name.removeprefix("tool_call.").removeprefix("function.")] = value
    for call in calls.values():
        raw, path = call.get("arguments", (None, None))
        known = {name: value for name, (value, _) in call.items()}
        yield Piece("call", text(raw), path, text(known.get("name")), text(known.get("id")), known)

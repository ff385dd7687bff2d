"""What an OpenTelemetry span says of a request: its messages, wherever instrumentations put them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.messages.pieces import Path, Piece
from webapp.dumps.spans.attributes import Attributes, parsed, plain
from webapp.dumps.values import as_list, as_object, text

_BODIES = ("request_data", "gcp.vertex.agent.llm_request", "mlflow.spanInputs")
"""bodies of requests as Logfire, Google's ADK and MLflow hold them"""
_PROMPT_EVENTS = ("system", "user", "assistant", "tool")


@dataclass(slots=True)
class EntrySpan:
    """A span's attributes and those of its events, by the event's name."""

    value: dict[str, Any]
    attributes: Attributes
    events: list[tuple[str, Attributes]] = field(default_factory=list)
    logged: bool = False
    """whether log records are among the events"""


def opened_span(entry: dict[str, Any]) -> EntrySpan:
    """The span of an entry `{"resource", "scope", "span"}`."""
    value = as_object(entry.get("span"))
    span = EntrySpan(value, Attributes(value.get("attributes"), ("span", "attributes")))
    for index, event in enumerate(as_list(value.get("events"))):
        if isinstance(event, dict):
            at = ("span", "events", index, "attributes")
            span.events.append((str(event.get("name")), Attributes(event.get("attributes"), at)))
    for event in as_list(parsed(span.attributes.values.get("events"))):  # Logfire's, as JSON text
        if isinstance(event, dict) and isinstance(event.get("event.name"), str):
            span.events.append((event["event.name"], Attributes(event, ())))
    for index, record in enumerate(as_list(entry.get("logs"))):
        if isinstance(record, dict):
            span.events.append(_logged(record, ("logs", index)))
            span.logged = True
    return span


_BLOCKS = {"text", "toolUse", "toolResult", "reasoningContent", "image", "document"}
"""the keys of Bedrock's blocks"""
_BODY = {"message", "content", "role", "tool_calls", "finish_reason"}
"""keys of what a model's log record says"""


def _logged(record: dict[str, Any], at: Path) -> tuple[str, Attributes]:
    """A log record as an event of its span: what its body says, and its attributes."""
    body, attributes = record.get("body"), Attributes(record.get("attributes"), (*at, "attributes"))
    listed = as_object(as_object(body).get("kvlistValue")).get("values")
    event = Attributes(listed, (*at, "body", "kvlistValue", "values"))
    if not listed and (said_plainly := plain(body)) is not None:
        whole = as_object(parsed(said_plainly))  # a body that was written as JSON text, too
        values = whole if whole.keys() & _BODY or whole is said_plainly else {"content": said_plainly}
        event.values = {str(key): value for key, value in values.items()}
    name = record.get("eventName") or record.get("event_name") or attributes.text("event.name")
    event.values, event.paths = {**attributes.values, **event.values}, {**attributes.paths, **event.paths}
    return str(name), event


def requested(span: EntrySpan) -> Iterator[dict[str, Any]]:
    """The messages of the request, from the first place that has some."""
    attributes = span.attributes
    for key in ("gen_ai.system_instructions", "gen_ai.system.instructions"):
        if attributes.first(key):
            yield {"role": "system", "content": parsed(attributes.first(key))}
    for key in ("gen_ai.input.messages", "gen_ai.prompt", "ai.prompt.messages", "ai.prompt", *_BODIES):
        values = [attributes.first(key), *(event.first(key) for _, event in span.events)]
        if value := next((value for value in values if value), None):
            yield from _messages(parsed(value))
            return
    for prefix, inner in (("gen_ai.prompt", ""), ("llm.input_messages", "message.")):
        if listed := attributes.indexed(prefix):
            yield from (_message({key.removeprefix(inner): pair for key, pair in item.items()}) for item in listed)
            return
    if value := _input(span):
        yield from _messages(value)
        return
    for name, event in span.events:
        role = name.removeprefix("gen_ai.").removesuffix(".message")
        if role in _PROMPT_EVENTS and event.first("content", "tool_calls") is not None:
            calls, ident = event.first("tool_calls"), event.first("id")
            message_blocks = blocks(event.first("content"))
            yield {"role": role, "content": message_blocks, "tool_calls": calls, "tool_call_id": ident}


def blocks(value: Any) -> Any:
    """The blocks that a content holds as JSON text, as Strands writes Bedrock's; else what it was."""
    listed = parsed(value)
    if not isinstance(listed, list) or not listed:
        return value
    return listed if all(isinstance(item, dict) and item.keys() & _BLOCKS for item in listed) else value


def _input(span: EntrySpan) -> Any:
    """What an LLM span of OpenInference was given, where its messages are no attributes of their own."""
    is_model = span.attributes.first("openinference.span.kind") == "LLM"
    return parsed(span.attributes.first("input.value")) if is_model else None


def _messages(value: Any) -> Iterator[dict[str, Any]]:
    for key in ("messages", "contents"):
        if isinstance(value, dict) and isinstance(value.get(key), list):
            value = value[key]
    if isinstance(value, list):
        yield from (message for message in value if isinstance(message, dict))
    else:
        yield {"role": "user", "content": value.get("prompt", value) if isinstance(value, dict) else value}


def _message(message: dict[str, tuple[Any, Path | None]]) -> dict[str, Any]:
    parts = [piece for piece in flat_message(message) if piece.kind != "thinking"]
    calls = [{"id": call.id, "function": {"name": call.name, "arguments": call.text}} for call in parts if call.call]
    content = "".join(piece.text or "" for piece in parts if piece.kind == "text")
    role, answered = (message.get(key, (None, None))[0] for key in ("role", "tool_call_id"))
    return {"role": role or "user", "content": content, "tool_calls": calls, "tool_call_id": answered}


def flat_message(message: dict[str, tuple[Any, Path | None]]) -> Iterator[Piece]:
    """What a message says whose parts are attributes of their own: `content`, `tool_calls.M.name` …"""
    for key in ("reasoning", "content", *sorted(key for key in message if key.startswith("contents."))):
        raw, path = message.get(key, (None, None))
        if raw == "None" and any(name.startswith(("tool_calls", "function_call")) for name in message):
            continue  # what some instrumentations write for no content
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
        values = {name: value for name, (value, _) in call.items()}
        yield Piece("call", text(raw), path, text(values.get("name")), text(values.get("id")), values)

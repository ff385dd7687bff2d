"""What an OpenTelemetry span says of a request: its messages, wherever instrumentations put them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.decoding import opened
from webapp.dumps.messages.declarations import declared_in, with_model
from webapp.dumps.messages.metadata import hosts_of, stop, stop_of
from webapp.dumps.messages.pieces import Piece, as_json, speaks
from webapp.dumps.records import Stop
from webapp.dumps.spans.logs import Attributes, plain
from webapp.dumps.values import as_list, as_object, text

_BODIES = ("request_data", "gcp.vertex.agent.llm_request", "mlflow.spanInputs")
"""bodies of requests as Logfire, Google's ADK and MLflow hold them"""
_PROMPT_EVENTS = ("system", "user", "assistant", "tool")


_THOUGHTS = ("reasoning", "reasoning_content", "thinking")
_TEXTS = ("content", "refusal")
_CALLS = ("tool_calls", "function_call")
_OLDER_CALL = {"function_call_name": "name", "function_call_arguments_json": "arguments"}
"""OpenInference's names for the call of a message that makes only one"""


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
    span = EntrySpan(value, Attributes(value.get("attributes")))
    for event in as_list(value.get("events")):
        if isinstance(event, dict):
            span.events.append((str(event.get("name")), Attributes(event.get("attributes"))))
    for event in as_list(opened(span.attributes.values.get("events"))):  # Logfire's, as JSON text
        if isinstance(event, dict) and isinstance(event.get("event.name"), str):
            span.events.append((event["event.name"], Attributes(event)))
    for record in as_list(entry.get("logs")):
        if isinstance(record, dict):
            span.events.append(_logged(record))
            span.logged = True
    return span


_BLOCKS = {"text", "toolUse", "toolResult", "reasoningContent", "image", "document"}
"""the keys of Bedrock's blocks"""
_BODY = {"message", "content", "role", "tool_calls", "finish_reason"}
"""keys of what a model's log record says"""


def _logged(record: dict[str, Any]) -> tuple[str, Attributes]:
    """A log record as an event of its span: what its body says, and its attributes."""
    body, attributes = record.get("body"), Attributes(record.get("attributes"))
    listed = as_object(as_object(body).get("kvlistValue")).get("values")
    event = Attributes(listed)
    if not listed and (said_plainly := plain(body)) is not None:
        whole = as_object(opened(said_plainly))  # a body that was written as JSON text, too
        values = whole if whole.keys() & _BODY or whole is said_plainly else {"content": said_plainly}
        event.values = {str(key): value for key, value in values.items()}
    name = record.get("eventName") or record.get("event_name") or attributes.text("event.name")
    event.values = {**attributes.values, **event.values}
    return str(name), event


def requested(span: EntrySpan) -> Iterator[dict[str, Any]]:
    """The messages of the request, from the first place that has some."""
    attributes = span.attributes
    for key in ("gen_ai.system_instructions", "gen_ai.system.instructions"):
        if attributes.first(key):
            yield {"role": "system", "content": opened(attributes.first(key))}
    for key in ("gen_ai.input.messages", "gen_ai.prompt", "ai.prompt.messages", "ai.prompt", *_BODIES):
        values = [attributes.first(key), *(event.first(key) for _, event in span.events)]
        if value := next((value for value in values if value), None):
            yield from _messages(opened(value))
            return
    for prefix, inner in (("gen_ai.prompt", ""), ("llm.input_messages", "message.")):
        if listed := attributes.indexed(prefix):
            yield from (_message({key.removeprefix(inner): pair for key, pair in item.items()}) for item in listed)
            return
    if attributes.first("openinference.span.kind") == "LLM" and (value := opened(attributes.first("input.value"))):
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
    listed = opened(value)
    if not isinstance(listed, list) or not listed:
        return value
    return listed if all(isinstance(item, dict) and item.keys() & _BLOCKS for item in listed) else value


def _messages(value: Any) -> Iterator[dict[str, Any]]:
    for key in ("messages", "contents"):
        if isinstance(value, dict) and isinstance(value.get(key), list):
            value = value[key]
    if isinstance(value, list):
        yield from (message for message in value if isinstance(message, dict))
    else:
        yield {"role": "user", "content": value.get("prompt", value) if isinstance(value, dict) else value}


def _message(message: dict[str, Any]) -> dict[str, Any]:
    parts = [piece for piece in flat_message(message) if piece.kind != "thinking"]
    called = [piece for piece in parts if piece.kind == "call"]
    calls = [{"id": call.id, "function": {"name": call.name, "arguments": call.text}} for call in called]
    content: Any = "".join(piece.text or "" for piece in parts if piece.kind == "text")
    if unread := [piece.call for piece in parts if piece.kind == "unread"]:  # it is named where the message is new
        content = [{"type": "text", "text": content}, *unread]
    role, answered = (message.get(key) for key in ("role", "tool_call_id"))
    return {"role": role or "user", "content": content, "tool_calls": calls, "tool_call_id": answered}


def flat_message(message: dict[str, Any]) -> Iterator[Piece]:
    """What a message says whose parts are attributes of their own: `content`, `tool_calls.M.name` …

    A text under a name that is not known is an `unread` piece, whose `call` holds it by its name.
    """
    calls: dict[str, dict[str, Any]] = {}
    for key in (key for key in message if key.startswith(_CALLS)):
        head, _, rest = key.partition(".")
        number, _, name = rest.partition(".") if head == "tool_calls" else ("", "", rest)
        name = _OLDER_CALL.get(key) or name.removeprefix("tool_call.").removeprefix("function.")
        calls.setdefault(number, {})[name] = message[key]
    for key in sorted((key for key in message if not key.startswith(_CALLS)), key=_order):
        raw = message[key]
        is_text = key in (*_THOUGHTS, *_TEXTS) or key.endswith("message_content.text")
        if is_text and isinstance(raw, str):
            if raw != "None" or not calls:  # what some instrumentations write for no content
                yield Piece("thinking" if key in _THOUGHTS else "text", raw)
        elif speaks({key.rpartition(".")[2]: raw}) or (key.endswith(("_text", ".text")) and text(raw)):
            yield Piece("unread", f"{key!r} is no known part of a message; it was left out", call={key: raw})
    for call in calls.values():
        raw = call.get("arguments")
        arguments = text(raw) or (as_json(raw) if raw else None)
        yield Piece("call", arguments, text(call.get("name")), text(call.get("id")), call)


def _order(key: str) -> tuple[int, int]:
    """Thoughts first, then the content, its parts by their numbers, then the rest."""
    if key in (*_THOUGHTS, "content"):
        return 0, key == "content"
    number = key.split(".")[1] if key.startswith("contents.") else ""
    return (1, int(number)) if number.isdecimal() and len(number) < 6 else (2, 0)


_TOOLS = (
    *("gen_ai.tool.definitions", "gen_ai.request.tools", "gen_ai.request.available_tools", "gen_ai.request.functions"),
    *("ai.prompt.tools", "mlflow.chat.tools", "llm.request.tools", "tools"),
)
_CHOICES = ("gen_ai.request.tool_choice", "ai.prompt.toolChoice", "tool_choice", "llm.request.tool_choice")
_SCHEMAS = (
    *("ai.schema", "gen_ai.request.structured_output_schema", "gen_ai.output.schema", "gen_ai.request.schema"),
    *("gen_ai.request.response_format", "gen_ai.openai.request.response_format", "gen_ai.output.type"),
)
_DECLARING_BODIES = (
    *("model_request_parameters", "llm.invocation_parameters", "langfuse.observation.model.parameters"),
    *("request_data", "gcp.vertex.agent.llm_request", "mlflow.spanInputs", "langfuse.observation.input", "input.value"),
)
"""attributes that hold a request, or the parameters of one"""
_NAMED = {"name", "function", "toolSpec", "functionDeclarations", "function_declarations"}
"""keys of a declaration, and not of its schema alone"""
_STOPS = (
    *("gen_ai.response.finish_reasons", "ai.response.finishReason", "llm.response.finish_reason", "ai.finishReason"),
    *("llm.finish_reason", "llm.response.stop_reason", "gen_ai.response.stop_reason"),
)
_ANSWERS = (
    "gen_ai.output.messages",
    "gen_ai.completion",
    "response_data",
    "output.value",
    "gcp.vertex.agent.llm_response",
)


def span_declares(span: EntrySpan) -> dict[str, Any] | None:
    """What the request of a span declares, in its attributes or in those of what happened in it."""
    declared: dict[str, Any] = {}
    for holder in (span.attributes, *(event for _, event in span.events)):
        declared = {**_declared(holder), **declared}
    asked, answered = map(span.attributes.text, ("gen_ai.request.model", "gen_ai.response.model"))
    return with_model(declared or None, {"model": asked}, answered)


def _declared(attributes: Attributes) -> dict[str, Any]:
    request: dict[str, Any] = {"tools": _listed(attributes) or opened(attributes.first(*_TOOLS))}
    request["max_tokens"] = attributes.first(
        "gen_ai.request.max_tokens", "llm.request.max_tokens", "ai.settings.maxTokens"
    )
    request["tool_choice"] = opened(attributes.first(*_CHOICES))
    request["response_format"] = opened(attributes.first(*_SCHEMAS))
    declared = declared_in(request) or {}
    for key in _DECLARING_BODIES:
        declared = {**(declared_in(opened(attributes.first(key))) or {}), **declared}
    return declared


def span_host(span: EntrySpan) -> str | None:
    """Who served the model of a span."""
    hosts = hosts_of(span.attributes.values)
    for key in _DECLARING_BODIES:
        hosts += hosts_of(opened(span.attributes.first(key)))
    return min(hosts, default=(0, None))[1]


def _listed(attributes: Attributes) -> list[Any]:
    """Tools that are attributes of their own: OpenInference's and OpenLLMetry's."""
    tools = []
    for item in attributes.indexed("llm.tools"):
        whole = as_object(opened(item.get("tool.json_schema")))
        values = {key.removeprefix("tool."): opened(value) for key, value in item.items()}
        tools.append(whole if _NAMED & whole.keys() else values)
    functions = attributes.indexed("llm.request.functions")
    return [*tools, *({key: opened(value) for key, value in item.items()} for item in functions)]


def span_stop(span: EntrySpan) -> Stop | None:
    """Why the model of a span stopped."""
    attributes = span.attributes
    word = opened(attributes.first(*_STOPS))
    if ending := stop(next(iter(as_list(word)), None) if isinstance(word, list) else word):
        return ending
    for item in attributes.indexed("gen_ai.completion"):
        if ending := stop(item.get("finish_reason")):
            return ending
    for holder in (attributes, *(event for _, event in span.events)):
        if ending := stop(holder.first("finish_reason", "gen_ai.response.finish_reason")):
            return ending
        for key in _ANSWERS:
            if ending := stop_of(opened(holder.first(key))):
                return ending
    return None

"""What a span says of its request's declarations, and of why the model stopped, under all instrumentations' names."""

from __future__ import annotations

from typing import Any

from webapp.dumps.messages.declarations import declared_in
from webapp.dumps.messages.hosts import hosts_of
from webapp.dumps.messages.stops import stop, stop_of
from webapp.dumps.records import Stop
from webapp.dumps.spans.attributes import Attributes, parsed
from webapp.dumps.spans.requests import EntrySpan
from webapp.dumps.values import as_list, as_object

_TOOLS = (
    *("gen_ai.tool.definitions", "gen_ai.request.tools", "ai.prompt.tools", "mlflow.chat.tools", "tools"),
    "llm.request.tools",
)
_CHOICES = ("gen_ai.request.tool_choice", "ai.prompt.toolChoice", "tool_choice", "llm.request.tool_choice")
_SCHEMAS = ("ai.schema", "gen_ai.request.structured_output_schema", "gen_ai.output.schema")
_BODIES = (
    *("model_request_parameters", "llm.invocation_parameters", "langfuse.observation.model.parameters"),
    *("request_data", "gcp.vertex.agent.llm_request", "mlflow.spanInputs", "langfuse.observation.input", "input.value"),
)
"""attributes that hold a request, or the parameters of one"""
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
    """What the request of a span declares."""
    attributes = span.attributes
    request: dict[str, Any] = {"tools": _listed(attributes) or parsed(attributes.first(*_TOOLS))}
    request["max_tokens"] = attributes.first(
        "gen_ai.request.max_tokens", "llm.request.max_tokens", "ai.settings.maxTokens"
    )
    request["tool_choice"] = parsed(attributes.first(*_CHOICES))
    if isinstance(schema := parsed(attributes.first(*_SCHEMAS)), dict):
        request["response_format"] = {"type": "json_schema", "schema": schema}
    declared = declared_in(request) or {}
    for key in _BODIES:
        declared = {**(declared_in(parsed(attributes.first(key))) or {}), **declared}
    return declared or None


def span_host(span: EntrySpan) -> str | None:
    """Who served the model of a span."""
    hosts = hosts_of(span.attributes.values)
    for key in _BODIES:
        hosts += hosts_of(parsed(span.attributes.first(key)))
    return min(hosts, default=(0, None))[1]


def _listed(attributes: Attributes) -> list[Any]:
    """Tools that are attributes of their own: OpenInference's and OpenLLMetry's."""
    tools = []
    for item in attributes.indexed("llm.tools"):
        whole = as_object(parsed(item.get("tool.json_schema", (None, None))[0]))
        named = {key.removeprefix("tool."): parsed(value) for key, (value, _) in item.items()}
        tools.append(whole if {"name", "function", "toolSpec"} & whole.keys() else named)
    functions = attributes.indexed("llm.request.functions")
    return [*tools, *({key: parsed(value) for key, (value, _) in item.items()} for item in functions)]


def span_stop(span: EntrySpan) -> Stop | None:
    """Why the model of a span stopped."""
    attributes = span.attributes
    word = parsed(attributes.first(*_STOPS))
    if found := stop(next(iter(as_list(word)), None) if isinstance(word, list) else word):
        return found
    for item in attributes.indexed("gen_ai.completion"):
        if found := stop(item.get("finish_reason", (None, None))[0]):
            return found
    for holder in (attributes, *(event for _, event in span.events)):
        if found := stop(holder.first("finish_reason", "gen_ai.response.finish_reason")):
            return found
        for key in _ANSWERS:
            if found := stop_of(parsed(holder.first(key))):
                return found
    return None

"""What a request, or a file for it, declares: tools with schemas, which may be called, and the form of the answer.

One shape for all providers, `{"tools": [{"name", "schema"}], "tool_choice", "response_format"}`, `max_tokens`, the
cap of the answer, and `model`, who was asked, where its answer names another; webapp/contracts says what its parts
mean. What a request does not say is not in it, and a request that says nothing declares None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from webapp.capture import specs
from webapp.dumps.decoding import json_or_none
from webapp.dumps.values import as_list, as_object, first_text, text, whole
from webapp.refusals import WrongUse

Declared = dict[str, Any]

_SCHEMAS = (
    *("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema", "json_schema"),
    *("schema", "args_schema"),
)
_FUNCTIONS = ("functionDeclarations", "function_declarations")
_LISTS = (
    *("tools", "functions", "function_tools", "toolDefinitions", "tool_definitions", "mlflow.chat.tools"),
    "gen_ai.tool.definitions",
)
_GENERATION = ("generationConfig", "generation_config", "config")
_ANSWER_SCHEMAS = ("responseSchema", "response_schema", "responseJsonSchema", "response_json_schema")
_HOLDERS = (
    *("request", "body", "json", "kwargs", "config", "params", "parameters", "model_parameters", "modelParameters"),
    *("optional_params", "extra", "invocation_params", "inputs", "input", "options", "extra_body", "request_body"),
    *("req", "model_request_parameters", "attributes", "metadata", "llm_request", "agent", "proxy_server_request"),
    *("span_data", "model_config", "response", "responses_create_params"),
)
"""under which keys an entry has its request, or the parameters of one"""
_CAPPED = ("generationConfig", "generation_config", "inferenceConfig", "options")
_CAPS = (
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens", "num_predict"),
    "gen_ai.request.max_tokens",
)
_DEPTH = 3
_SAYING = frozenset(
    (
        *(*_LISTS, *_GENERATION, *_ANSWER_SCHEMAS, *_CAPPED, *_CAPS, "toolConfig", "tool_config", "output_tools"),
        *("mcp_servers", "tool_choice", "toolChoice", "function_call", "responseMimeType", "response_mime_type"),
        *("response_format", "output_format", "format", "guided_json", "structured_outputs", "text", "output_config"),
        *("output_mode", "output_object", "allow_text_output"),
    )
)
"""keys without one of which nothing is declared: most objects that are looked at are messages"""
_CHOICES = {"any": "required", "validated": "auto", "required": "required", "auto": "auto", "none": "none"}
_snapshot = re.compile(r"(?:[-@:]\d{3}.*)?")
"""what an answer adds to the name of a model that is the same"""
_FORMS = frozenset(("properties", "items", "$ref", "anyOf", "oneOf", "allOf", "enum"))
"""keys of a schema that stands for the form of an answer, as Ollama has it"""


def declared_in(holder: Any, depth: int = _DEPTH) -> Declared | None:
    """What a request, or an entry that holds one somewhere, declares."""
    if isinstance(holder, str) and holder[:1] == "{":
        holder = json_or_none(holder)
    if not isinstance(holder, dict):
        return None
    declared = _declared(holder)
    for key in filter(holder.__contains__, _HOLDERS if depth else ()):
        is_answer = key == "response" and as_object(holder[key]).get("object") != key  # OpenAI's repeat the request
        if not is_answer and (inner := declared_in(holder[key], depth - 1)):
            declared = {**inner, **declared}
    return declared or None


def with_model(declared: Declared | None, request: Any, answered: str | None) -> Declared | None:
    """`declared` with the model that the request names, where its answer names another and it allows no others."""
    asked = first_text(request, "model", "modelId") or ""
    is_same = not asked or not answered or _snapshot.fullmatch(answered.lower().removeprefix(asked.lower()))
    routed = as_object(as_object(request.get("providerOptions")).get("gateway"))
    holders = (request, routed, as_object(request.get("extra_body")))
    if is_same or any(holder.get(key) for holder in holders for key in ("models", "fallbacks")):
        return declared
    return {**(declared or {}), "model": asked}


def _value(holder: dict[str, Any], *keys: str) -> Any:
    """What stands first under one of the keys, where that is JSON text what it says."""
    value = next((holder[key] for key in keys if holder.get(key) is not None), None)
    return json_or_none(value) if isinstance(value, str) and value[:1] in ("{", "[") else value


def _declared(request: dict[str, Any]) -> Declared:
    declared: Declared = {}
    if _SAYING.isdisjoint(request):
        return declared
    if (tools := _tools(request)) is not None:
        declared["tools"] = tools
    if (choice := _choice(request)) is not None:
        declared["tool_choice"] = choice
    if (answer := _answer(request)) is not None:
        declared["response_format"] = answer
    if (cap := _cap(request)) is not None:
        declared["max_tokens"] = cap
    return declared


def _tools(request: dict[str, Any]) -> list[Declared] | None:
    """The tools; None where no list of them is there, or what is listed has no shape of a declaration."""
    listed = _value(request, *(key for key in _LISTS if request.get(key)))
    if listed is None:
        listed = as_object(request.get("toolConfig", request.get("tool_config"))).get("tools")
    if isinstance(listed, dict):  # by their names
        parsed = {name: json_or_none(inner) if isinstance(inner, str) else inner for name, inner in listed.items()}
        listed = [{"name": name, **inner} for name, inner in parsed.items() if isinstance(inner, dict)]
    extra = [tool for tool in as_list(request.get("output_tools")) if isinstance(tool, dict)]
    tool_values = [json_or_none(tool) if isinstance(tool, str) else tool for tool in [*as_list(listed), *extra]]
    tools = [declared_tool for tool in tool_values if isinstance(tool, dict) for declared_tool in tools_of(tool)]
    if as_list(request.get("mcp_servers")):
        tools.append({"name": "mcp", "open": True})
    return tools or None


def tools_of(tool: dict[str, Any]) -> Iterator[Declared]:
    """The tools that one item of a list declares, whichever provider's."""
    for key in _FUNCTIONS:
        yield from (_named(function) for function in as_list(tool.get(key)) if isinstance(function, dict))
    if tool.get("type") == "namespace":
        for inner in as_list(tool.get("tools")):
            yield from tools_of(as_object(inner))
        return
    inner = next(
        (tool[key] for key in ("function", "toolSpec", "custom", "tool") if isinstance(tool.get(key), dict)), tool
    )
    name, kind = first_text(inner, "name", "toolName", "tool_name"), text(tool.get("type"))
    if kind == "mcp":
        yield {"name": first_text(tool, "server_label", "name") or kind, "open": True}
    elif name is not None:
        yield _named(inner)
    elif kind is not None and kind not in ("function", "custom"):  # a tool that its provider runs
        yield {"name": kind, "open": True}
    elif not any(key in tool for key in _FUNCTIONS) and len(tool) == 1:
        yield from ({"name": str(key), "open": True} for key, value in tool.items() if isinstance(value, dict))


def _named(function: dict[str, Any]) -> Declared:
    schema = next((function[key] for key in _SCHEMAS if function.get(key) is not None), None)
    if isinstance(schema, str):
        schema = json_or_none(schema)
    if isinstance(schema, dict) and isinstance(schema.get("json"), dict):  # Bedrock's
        schema = schema["json"]
    if isinstance(schema, dict) and isinstance(schema.get("jsonSchema"), dict):  # Vercel's
        schema = schema["jsonSchema"]
    tool = {"name": first_text(function, "name", "toolName", "tool_name")}
    return tool if schema is None else tool | {"schema": schema}


def _choice(request: dict[str, Any]) -> Any:
    """ "auto", "none", "required", the name of the one tool that must be called, or the names of those that may."""
    value = _value(request, "tool_choice", "toolChoice", "function_call")
    if value is None and request.get("allow_text_output") is False and request.get("output_tools"):  # Pydantic AI's
        return "required"
    if value is None:
        config = as_object(request.get("toolConfig", request.get("tool_config")))
        calling = as_object(config.get("functionCallingConfig", config.get("function_calling_config")))
        mode = _word(calling.get("mode"))
        if names := as_list(calling.get("allowedFunctionNames", calling.get("allowed_function_names"))):
            return _chosen(names, mode)
        value = config.get("toolChoice") or mode
    if isinstance(value, str):
        return _word(value)
    value = as_object(value)
    inner = next((value[key] for key in ("function", "tool", "custom") if isinstance(value.get(key), dict)), value)
    if name := first_text(inner, "name", "toolName"):
        return {"name": name}
    kind = text(value.get("type")) or next((key for key in ("any", "auto", "none") if key in value), "")
    if kind != "allowed_tools":
        return _word(kind)
    allowed = value.get(kind, value)
    tools = [tool for listed in as_list(allowed.get("tools")) for tool in tools_of(as_object(listed))]
    return _chosen([tool["name"] for tool in tools], _word(allowed.get("mode")))


def _word(value: Any) -> str | None:
    return _CHOICES.get(value.lower()) if isinstance(value, str) else None


def _chosen(names: list[Any], mode: str | None) -> Any:
    """Of some tools one must be called, or may."""
    tool_names = [name for name in names if isinstance(name, str)]
    if mode == "required" and len(tool_names) == 1:
        return {"name": tool_names[0]}
    return {"names": tool_names, "mode": mode or "auto"} if tool_names else mode


def _answer(request: dict[str, Any]) -> Declared | None:
    """The form of the answer; None where any text will do."""
    config = next((request[key] for key in _GENERATION if isinstance(request.get(key), dict)), request)
    mime = config.get("responseMimeType", config.get("response_mime_type"))
    if mime not in (None, "application/json"):  # a text, or one of some words
        return None
    for key in _ANSWER_SCHEMAS:
        if isinstance(schema := config.get(key), dict):  # within a name in Inspect's
            return {"type": "json_schema", "schema": schema.get("json_schema", schema)}
    words, output, vllm = (as_object(request.get(key)) for key in ("text", "output_config", "structured_outputs"))
    candidates = [_value(request, "response_format"), words.get("format"), request.get("output_format")]
    candidates += [output.get("format"), request.get("format"), _value(request, "guided_json"), vllm.get("json")]
    if request.get("output_mode") == "native":  # Pydantic AI's
        candidates.append(as_object(request.get("output_object")).get("json_schema"))
    answer_format = next(filter(None, map(_answer_format, candidates)), None)
    return answer_format or ({"type": "json_schema", "schema": {}} if mime else None)


def _cap(request: dict[str, Any]) -> int | None:
    """How many tokens the answer may have."""
    config = next((request[key] for key in _CAPPED if isinstance(request.get(key), dict)), request)
    return next((whole(config[key]) for key in _CAPS if config.get(key) is not None), None)


def _answer_format(value: Any) -> Declared | None:
    """What one form of an answer demands: a word, OpenAI's type with a schema or without, or a schema alone."""
    if isinstance(value, str):  # Ollama's "json", and a type alone
        return {"type": "json_object"} if value in ("json", "json_object") else None
    if not isinstance(value, dict):
        return None
    kind, inner = value.get("type"), as_object(value.get("json_schema"))
    if kind in ("json_schema", "json_object"):
        schema = inner.get("schema", value.get("schema", inner or None))
        return {"type": "json_object"} if schema is None else {"type": "json_schema", "schema": schema}
    is_schema = kind in ("object", "array") or not _FORMS.isdisjoint(value)
    return {"type": "json_schema", "schema": value} if is_schema else None


class BadTools(WrongUse):
    """A file of tools that declares none; the message says which and why."""


def read_tools(path: Path) -> dict[str, Any]:
    """What a file, or each `.json` file of a folder, declares. Raises `BadTools` and `OSError`."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    declared: dict[str, Any] = {"tools": []}
    for file in files:
        try:
            value = json.loads(file.read_bytes())
        except (ValueError, RecursionError) as error:
            raise BadTools(f"{file}: no JSON: {error}") from None
        tools = _in_file(value)
        if tools is None:
            raise BadTools(f"{file}: no tools are declared in it")
        declared = {**declared, **tools, "tools": [*declared["tools"], *tools.get("tools", ())]}
    if not files:
        raise BadTools(f"{path}: no file *.json is in it")
    return declared


def of_service(service: str | None) -> dict[str, Any] | None:
    """What [tool.fencepost.tools] names for the requests of a service that declare no tools. Raises `BadSpec`."""
    return configured().get(service) if service else None


def configured() -> Mapping[str, dict[str, Any]]:
    """The tools that are configured for each service, as their files were when they were first asked for.

    Raises `BadSpec`.
    """
    return _read_all(tuple(specs.tools().items()))


@lru_cache(maxsize=16)
def _read_all(files: tuple[tuple[str, Path], ...]) -> Mapping[str, dict[str, Any]]:
    try:
        return {service: read_tools(path) for service, path in files}
    except (OSError, BadTools) as reason:
        raise specs.BadSpec(f"[tool.fencepost.tools]: {reason}") from None


def _in_file(value: Any) -> dict[str, Any] | None:
    if isinstance(value, list):
        value = {"tools": value}
    elif isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    elif isinstance(value, dict) and "tools" not in value and ("name" in value or "function" in value):
        value = {"tools": [value]}
    return declared_in(value)

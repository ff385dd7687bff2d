"""What a request declares: its tools with their schemas, which of them may be called, and the form of the answer.

One shape for all providers, `{"tools": [{"name", "schema"}], "tool_choice", "response_format"}`, and `max_tokens`, the
cap of the answer; webapp/contracts says what its parts mean. What a request does not say is not in it, and a request
that says nothing declares None.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.values import as_list, as_object, first_text, text, whole

Declared = dict[str, Any]

_SCHEMAS = (
    *("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema", "json_schema"),
    *("schema", "args_schema"),
)
_FUNCTIONS = ("functionDeclarations", "function_declarations")
_LISTS = ("tools", "functions", "function_tools", "toolDefinitions", "tool_definitions")
_GENERATION = ("generationConfig", "generation_config", "config")
_ANSWER_SCHEMAS = ("responseSchema", "response_schema", "responseJsonSchema", "response_json_schema")
_HOLDERS = (
    *("request", "body", "json", "kwargs", "config", "params", "parameters", "model_parameters", "modelParameters"),
    *("optional_params", "extra", "invocation_params", "inputs", "input", "options", "extra_body", "request_body"),
    *("req", "model_request_parameters", "attributes", "metadata", "llm_request", "agent", "proxy_server_request"),
)
"""under which keys an entry has its request, or the parameters of one"""
_CAPPED = ("generationConfig", "generation_config", "inferenceConfig", "options")
_CAPS = (
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens", "num_predict"),
    "gen_ai.request.max_tokens",
)
_DEPTH = 3
_CHOICES = {"any": "required", "validated": "auto", "required": "required", "auto": "auto", "none": "none"}
_OPENAPI = {kind.upper(): kind for kind in ("string", "number", "integer", "boolean", "array", "object", "null")}
_DEEPEST = 100


def declared_in(holder: Any, depth: int = _DEPTH) -> Declared | None:
    """What a request, or an entry that holds one somewhere, declares."""
    if isinstance(holder, str) and holder[:1] == "{":
        holder = json_or_none(holder)
    if not isinstance(holder, dict):
        return None
    declared = _declared(holder)
    for key in _HOLDERS if depth else ():
        if (inner := holder.get(key)) is not None and (found := declared_in(inner, depth - 1)):
            declared = {**found, **declared}
    return declared or None


def _declared(request: dict[str, Any]) -> Declared:
    declared: Declared = {}
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
    listed = next((request[key] for key in _LISTS if request.get(key)), None)
    if listed is None:
        listed = as_object(request.get("toolConfig", request.get("tool_config"))).get("tools")
    if isinstance(listed, str):
        listed = json_or_none(listed)
    if isinstance(listed, dict):  # by their names
        parsed = {name: json_or_none(inner) if isinstance(inner, str) else inner for name, inner in listed.items()}
        listed = [{"name": name, **inner} for name, inner in parsed.items() if isinstance(inner, dict)]
    extra = [tool for tool in as_list(request.get("output_tools")) if isinstance(tool, dict)]
    read = [json_or_none(tool) if isinstance(tool, str) else tool for tool in [*as_list(listed), *extra]]
    tools = [one for tool in read if isinstance(tool, dict) for one in tools_of(tool)]
    if as_list(request.get("mcp_servers")):
        tools.append({"name": "mcp", "open": True})
    return tools or None


def tools_of(tool: dict[str, Any]) -> Iterator[Declared]:
    """The tools that one item of a list declares, whichever provider's."""
    for key in _FUNCTIONS:
        for function in as_list(tool.get(key)):
            if isinstance(function, dict):
                named = _named(function)
                yield named | {"schema": plain_schema(named["schema"])} if "schema" in named else named
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
    named = {"name": first_text(function, "name", "toolName", "tool_name")}
    return named if schema is None else named | {"schema": schema}


def _choice(request: dict[str, Any]) -> Any:
    """ "auto", "none", "required", or the name of the one tool that must be called."""
    keys = ("tool_choice", "toolChoice", "function_call")
    value = next((request[key] for key in keys if request.get(key) is not None), None)
    if isinstance(value, str) and value[:1] == "{":
        value = json_or_none(value)
    if value is None:
        config = as_object(request.get("toolConfig", request.get("tool_config")))
        calling = as_object(config.get("functionCallingConfig", config.get("function_calling_config")))
        allowed = as_list(calling.get("allowedFunctionNames", calling.get("allowed_function_names")))
        value = config.get("toolChoice") or calling.get("mode")
        if len(allowed) == 1 and isinstance(allowed[0], str):
            return {"name": allowed[0]}
    if isinstance(value, str):
        return _CHOICES.get(value.lower())
    value = as_object(value)
    inner = next((value[key] for key in ("function", "tool", "custom") if isinstance(value.get(key), dict)), value)
    if name := first_text(inner, "name", "toolName"):
        return {"name": name}
    kind = text(value.get("type")) or next((key for key in ("any", "auto", "none") if key in value), "")
    return _CHOICES.get(text(value.get("mode")) or "auto") if kind == "allowed_tools" else _CHOICES.get(kind)


def _answer(request: dict[str, Any]) -> Declared | None:
    """The form of the answer; None where any text will do."""
    config = next((request[key] for key in _GENERATION if isinstance(request.get(key), dict)), request)
    for key in _ANSWER_SCHEMAS:
        if isinstance(schema := config.get(key), dict):  # within a name in Inspect's
            return {"type": "json_schema", "schema": plain_schema(schema.get("json_schema", schema))}
    mime = config.get("responseMimeType", config.get("response_mime_type"))
    output = as_object(request.get("output_config"))
    candidates = (request.get("response_format"), as_object(request.get("text")).get("format"))
    for value in (*candidates, request.get("output_format"), output.get("format"), request.get("format")):
        if value == "json":  # Ollama's
            return {"type": "json_object"}
        if isinstance(value, dict) and (found := _answer_format(value)):
            return found
    return {"type": "json_object"} if mime == "application/json" else None


def _cap(request: dict[str, Any]) -> int | None:
    """How many tokens the answer may have."""
    config = next((request[key] for key in _CAPPED if isinstance(request.get(key), dict)), request)
    return next((whole(config[key]) for key in _CAPS if config.get(key) is not None), None)


def _answer_format(value: dict[str, Any]) -> Declared | None:
    kind = value.get("type")
    if kind == "json_schema":
        schema = as_object(value.get("json_schema")).get("schema", value.get("schema"))
        return {"type": kind, "schema": schema} if schema is not None else {"type": "json_object"}
    if kind == "json_object":
        return {"type": kind}
    return {"type": "json_schema", "schema": value} if kind == "object" and "properties" in value else None  # Ollama's


def plain_schema(schema: Any, depth: int = 0) -> Any:
    """Google's OpenAPI types as JSON Schema's: `STRING` is `string`, and what is nullable may be null."""
    if isinstance(schema, list) and depth < _DEEPEST:
        return [plain_schema(inner, depth + 1) for inner in schema]
    if not isinstance(schema, dict) or depth >= _DEEPEST:
        return schema
    plain = {key: plain_schema(inner, depth + 1) for key, inner in schema.items()}
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _OPENAPI:
        plain["type"] = [_OPENAPI[kind], "null"] if schema.get("nullable") is True else _OPENAPI[kind]
    return plain

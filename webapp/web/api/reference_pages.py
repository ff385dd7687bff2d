"""The API's description as JSON for programs, and as a page for people."""

from __future__ import annotations

import json as json_module
import shlex
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, render_template, request

from webapp.web.api import openapi
from webapp.web.api.operation import JSON, Operation, json, operation
from webapp.web.api.shapes import TEXT, Schema, each, record
from webapp.web.help_pages import documents

blueprint = Blueprint("api_reference", __name__)

_KINDS = {"string": "text", "integer": "number", "number": "number", "boolean": "true or false", "null": "null"}
_INDENT = "  "
_LIMITLESS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class OperationView:
    """One operation as the page shows it; `places` are what stands in the path, with their words."""

    name: str
    method: str
    path: str
    stated: Operation
    places: list[tuple[str, str, str]]
    parameters: list[tuple[str, str, str]]
    example: str


@blueprint.get("/api/openapi.json")
@operation(
    "Description",
    "Read this description",
    json(record({"components": each({})}, openapi=TEXT, info=each({}), paths=each({}), servers={}), "OpenAPI 3.1"),
)
def description_api() -> Response:
    return jsonify(_document())


@blueprint.get("/help/api-reference")
def show() -> str:
    """Every operation with what it takes, what it answers, and a call by curl."""
    groups: dict[str, list[OperationView]] = {}
    for view in _views():
        groups.setdefault(view.stated.group, []).append(view)
    schemas: dict[str, Schema] = _document()["components"]["schemas"]
    return render_template(
        "help/reference.html",
        about=openapi.ABOUT,
        groups=groups,
        shared=openapi.SHARED,
        shapes={name: outline(schema) for name, schema in schemas.items()},
        outline=outline,
        documents=documents(),
    )


def _document() -> dict[str, Any]:
    return openapi.document(
        current_app, server=request.script_root, has_token=current_app.config["SETTINGS"].asks_login
    )


def _views() -> list[OperationView]:
    return [
        OperationView(
            name=f"{method}-{path.strip('/')}".translate(str.maketrans("/{}", "-__")),
            method=method.upper(),
            path=path,
            stated=stated,
            places=[(each["name"], outline(each["schema"]), each["description"]) for each in openapi.places(rule)],
            parameters=[(each.name, outline(each.schema), each.about) for each in stated.query],
            example=_curl(path, method, stated),
        )
        for path, method, stated, rule in openapi.operations(current_app)
    ]


def _curl(path: str, method: str, stated: Operation) -> str:
    """A call of this server by curl, as somebody would type it."""
    examples = {name: example for name, (_, _, example) in openapi.PLACES.items()}
    address = request.url_root.rstrip("/") + path.format(**examples) + stated.example
    says_method = method != "get" and (method in ("put", "delete") or not stated.body)
    words = ["curl", *(["-X", method.upper()] if says_method else [])]
    if current_app.config["SETTINGS"].asks_login:
        words += ["-H", '"Authorization: Bearer $FENCEPOST_TOKEN"']
    if stated.body:
        is_json = JSON in stated.body.schemas
        words += ["-d", shlex.quote(json_module.dumps(stated.body.example))] if is_json else ["--data-binary", "@FILE"]
    return " ".join([*words, shlex.quote(address)])


def outline(schema: Schema, depth: int = 0) -> str:
    """A JSON Schema as a person writes JSON: keys with the kinds of their values, `?` for one not always there."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(outline(choice, depth) for choice in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(schema["enum"])
    if "const" in schema:
        return "true" if schema["const"] is True else f'"{schema["const"]}"'
    kind = schema.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(outline(schema | {"type": each}, depth) for each in kind)
    if kind == "array":
        return _array(schema, depth)
    if kind == "object":
        return _object(schema, depth)
    return f"{_KINDS.get(kind, kind)}{_range(schema)}"


def _array(schema: Schema, depth: int) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(outline(item, depth) for item in schema['prefixItems'])}]"
    items = outline(schema["items"], depth)
    return f"[{items}, {items}]" if schema.get("maxItems") == 2 else f"[{items}, …]"


def _object(schema: Schema, depth: int) -> str:
    if "properties" not in schema:
        return f"{{name: {outline(schema.get('additionalProperties', {}), depth)}, …}}"
    inner = _INDENT * (depth + 1)
    lines = [
        f'{inner}"{name}"{"" if name in schema["required"] else "?"}: {outline(value, depth + 1)}'
        for name, value in schema["properties"].items()
    ]
    return "{\n" + ",\n".join(lines) + f"\n{_INDENT * depth}}}"


def _range(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum", _LIMITLESS)
    if least in (None, 0) and most == _LIMITLESS:
        return ""
    return f" from {least}" if most == _LIMITLESS else f" from {least} to {most:,}"

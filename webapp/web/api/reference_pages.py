"""The API's description as JSON for programs, and as a page for people."""

from __future__ import annotations

import json as json_module
import shlex
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, render_template, request

from webapp.web.api import openapi
from webapp.web.api.operation import JSON, Operation, json, operation
from webapp.web.api.outline import outline
from webapp.web.api.shapes import TEXT, Schema, each, record
from webapp.web.help_pages import documents

blueprint = Blueprint("api_reference", __name__)


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
    address = request.url_root.rstrip("/") + path.format(**openapi.EXAMPLES) + stated.example
    words = ["curl", *(["-X", method.upper()] if method in ("put", "delete") or not stated.body else [])]
    words = ["curl"] if method == "get" else words
    if current_app.config["SETTINGS"].asks_login:
        words += ["-H", '"Authorization: Bearer $FENCEPOST_TOKEN"']
    if stated.body:
        is_json = JSON in stated.body.schemas
        words += ["-d", shlex.quote(json_module.dumps(stated.body.example))] if is_json else ["--data-binary", "@FILE"]
    return " ".join([*words, shlex.quote(address)])

"""The whole description, OpenAPI 3.1, put together from what the views say of themselves."""

from __future__ import annotations

import json as json_module
import re
import shlex
from collections.abc import Iterator
from typing import Any

from flask import Blueprint, Flask, Response, current_app, jsonify, render_template, request
from werkzeug.routing import Rule

from webapp import __version__
from webapp.web.api import shapes
from webapp.web.api.operation import JSON, Stated, json, of_view, operation
from webapp.web.api.shapes import COUNT, TEXT, Schema
from webapp.web.help_pages import documents

ABOUT = """JSON in, JSON out. An error of any address here is `{"error": {"code", "message", "at"}}` with the status
that fits: `code` is a word for programs, `message` a sentence for people, `at` the place in what was sent, or null.
Lists that can be long have `next`: send it as `after`; null is the end. A whole JSON answer to a GET has an ETag, and
`If-None-Match` gets 304. An empty parameter is as if it were not given. OpenTelemetry's `/v1/traces`, `/v1/logs` and
`/v1/metrics` follow that protocol and are not described here."""
SHARED = {
    400: "A value cannot be meant, or the server does not answer to this host name",
    401: "A token is asked for and was not sent, or is wrong",
    403: "A page of another site asked",
    404: "There is no such thing",
    405: "The address does not accept this method, or a number in it is invalid",
    413: "The body is too large",
    415: "The body is compressed in an unsupported way",
    429: "Too many wrong tokens or passwords came from there; `Retry-After` says when to try again",
    503: "The database is busy, or a file cannot be used; nothing was changed",
    507: "The disk is full, or cannot be written; nothing was changed",
}
"""refusals that any address may answer with"""
NOT_MODIFIED = "What `If-None-Match` names is still what would be answered; there is no body"
_NUMBER = COUNT | {"maximum": 2**63 - 1}
PLACES: dict[str, tuple[Schema, str, str]] = {
    "ident": (TEXT, "a session's own id, percent-encoded, or its key", "SESSION"),
    "position": (_NUMBER, "a turn of the session, counted from 0", "3"),
    "number": (_NUMBER, "the number that the answer to the request named", "1"),
    "dump_id": (TEXT, "a dump's number or sha256", "1"),
    "key": (TEXT, "the group's key, percent-encoded", "GROUP"),
    "name": (TEXT, "the profile's name, percent-encoded", "fencepost"),
}
"""what stands in the paths: its schema, its words, and an example"""


def document(app: Flask, *, root: str, server: str, has_token: bool) -> dict[str, Any]:
    """The description as JSON's values; `server` is the prefix of the paths, `root` the whole address of the server."""
    license_ = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    responses = {f"Refused{status}": json("Error", words) for status, words in SHARED.items()}
    schemes = {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}} if has_token else {}
    paths: dict[str, dict[str, Any]] = {}
    for path, method, (stated, example), rule in operations(app):
        places, sample = _places(rule), _curl(root + path, method, stated, example, has_token=has_token)
        paths.setdefault(path, {"parameters": places} if places else {})[method] = {
            "operationId": rule.endpoint,
            **_with_shared(stated, method),
            "x-codeSamples": [{"lang": "Shell", "source": sample}],
            **({"security": [{"token": []}]} if has_token else {}),
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fencepost", "version": __version__, "description": ABOUT, "license": license_},
        "servers": [{"url": server or "/"}],
        "paths": paths,
        "components": {"schemas": shapes.components(), "responses": responses, **schemes},
    }


def rules(app: Flask) -> list[Rule]:
    """The API's addresses, in the order of their paths."""
    return sorted(
        (rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/api/")), key=lambda rule: rule.rule
    )


def operations(app: Flask) -> Iterator[tuple[str, str, tuple[Stated, str], Rule]]:
    """Path as OpenAPI writes it, method in lower case, what its view says of itself, and its rule."""
    for rule in rules(app):
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            stated = of_view(app.view_functions[rule.endpoint])
            if stated is not None:
                yield re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method.lower(), stated, rule


def _with_shared(stated: Stated, method: str) -> Stated:
    """An operation with what any address may answer."""
    answers: Stated = {"304": {"description": NOT_MODIFIED}} if method == "get" else {}
    answers |= {str(status): {"$ref": f"#/components/responses/Refused{status}"} for status in SHARED}
    return stated | {"responses": dict(sorted((answers | stated["responses"]).items()))}


def _places(rule: Rule) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "description": PLACES[name][1], "schema": PLACES[name][0]}
        for name in re.findall(r"<(?:\w+:)?(\w+)>", rule.rule)
    ]


def _curl(address: str, method: str, stated: Stated, example: str, *, has_token: bool) -> str:
    """A call of an address by curl, as somebody would type it."""
    kinds = stated.get("requestBody", {}).get("content")
    says_method = method != "get" and (method in ("put", "delete") or not kinds)
    words = ["curl", *(["-X", method.upper()] if says_method else [])]
    if has_token:
        words += ["-H", '"Authorization: Bearer $FENCEPOST_TOKEN"']
    if kinds:
        sent = ["-d", shlex.quote(json_module.dumps(kinds[JSON]["example"]))] if JSON in kinds else None
        words += sent or ["--data-binary", "@FILE"]
    examples = {name: place_example for name, (_, _, place_example) in PLACES.items()}
    return " ".join([*words, shlex.quote(address.format(**examples) + example)])


blueprint = Blueprint("api_reference", __name__)


@blueprint.get("/api/openapi.json")
@operation(
    "Description",
    "Read this description",
    json("description", "OpenAPI 3.1"),
)
def description_api() -> Response:
    return jsonify(_document())


@blueprint.get("/help/api-reference")
def show() -> str:
    """Every operation with what it takes, what it answers, and a call by curl."""
    described = _document()
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in described["paths"].items():
        for method, stated in methods.items():
            if method != "parameters":
                name = f"{method}-{path.strip('/')}".translate(str.maketrans("/{}", "-__"))
                about = {"name": name, "method": method.upper(), "path": path, "places": methods.get("parameters", [])}
                groups.setdefault(stated["tags"][0], []).append(about | stated)
    shapes = described["components"]["schemas"]
    context = {"about": ABOUT, "groups": groups, "shared": SHARED, "shapes": shapes, "documents": documents()}
    return render_template("help/reference.html", **context, not_modified=NOT_MODIFIED)


def _document() -> dict[str, Any]:
    has_token = current_app.config["SETTINGS"].asks_login
    root = request.url_root.rstrip("/")
    return document(current_app, root=root, server=request.script_root, has_token=has_token)

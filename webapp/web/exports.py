"""Exports: labelled responses and sessions in every format, streamed, with what must not leave masked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from flask import Blueprint, Response, render_template, request, url_for

from webapp.exports import base
from webapp.exports.redaction import Redactor, redactor
from webapp.extensions import db
from webapp.store.exports import exporting
from webapp.store.exports.session_dump import safe_name
from webapp.store.labels import queue
from webapp.store.labels.queue_spec import SAMPLE, spec_of
from webapp.store.sessions import filters as filtering
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions.filters import BadFilter
from webapp.web import links
from webapp.web.answers import streamed
from webapp.web.api.operation import FILTERS, IDS, QUEUE, REDACTION, Parameter, operation
from webapp.web.api.shapes import BINARY, TEXT, Content, Schema, one_of

blueprint = Blueprint("exports", __name__)


def media_types(takes: str) -> dict[str, Schema]:
    """Those of the export formats, as a description has them."""
    return {export.media_type.partition(";")[0]: BINARY for export in base.formats(takes).values()}


@blueprint.get("/labels/export")
def index() -> str:
    scope, selection = scope_of_request()
    unknown = exporting.unknown_values(db.session, **selection)
    context = {"formats": base.described("labels"), "given": request.args, "scope": scope, "unknown": unknown}
    return render_template("exports/index.html", **context)


@blueprint.get("/api/labels/export")
@operation(
    "Labels",
    "Export labelled responses",
    Content("The export", media_types("labels")),
    query=(
        Parameter("format", one_of(base.formats("labels")), "unset: jsonl"),
        Parameter("source", TEXT, "sessions of logs in this format: the filter that elsewhere is called format"),
        *QUEUE,
        IDS,
        *REDACTION,
        *(filter_ for filter_ in FILTERS if filter_.name != "format"),
    ),
    refuses={422: "The export cannot be made of these labels"},
    example="?format=jsonl",
)
def labels_api() -> Response:
    """Labelled responses: all, of sessions (`ids`, several), under the list's filters, or of a queue (`queue`)."""
    name = request.args.get("format") or "jsonl"
    scope, selection = scope_of_request()
    pieces = exporting.labels(db.session, name, scope=scope, redactor=redactor_of_request(), **selection)
    return download(pieces, base.find(name, "labels"), "labels")


@blueprint.get("/api/session/<session_id:ident>/export")
@operation(
    "Sessions",
    "Export a session as a report",
    Content("The report", media_types("sessions")),
    query=(Parameter("format", one_of(base.formats("sessions")), "unset: html"), *REDACTION),
    example="?format=report",
)
def session_api(ident: str) -> Response:
    session = session_store.find(db.session, ident)
    name = request.args.get("format") or "html"
    url = url_for("sessions.show", ident=links.ident(session), _external=True)
    pieces = exporting.session(db.session, name, session, redactor=redactor_of_request(), url=url)
    return download(pieces, base.find(name, "sessions"), safe_name(session.external_id))


def download(pieces: Iterator[bytes], format_: Any, name: str) -> Response:
    """The pieces as a file; the first is made at once, so that what stops an export is answered with its status."""
    first = next(pieces, b"")
    response = streamed(chain((first,), pieces), format_.media_type)
    how = "inline" if request.args.get("show") == "1" and format_.suffix != ".html" else "attachment"
    response.headers.set("Content-Disposition", how, filename=f"{name}{format_.suffix}")
    return response


def scope_of_request() -> tuple[str, dict[str, Any]]:
    """What is exported, in words and as `exporting.labels` takes it. Raises `BadFilter` and `NoSuchSession`."""
    idents, spec = request.args.getlist("ids"), None
    if request.args.get("queue"):
        spec = spec_of(request.args, idents)
        if spec.kind == SAMPLE and not queue.is_drawn(db.session, spec):
            raise BadFilter("this sample is not drawn yet: open it under Labels and draw it")
    filters = filtering.of_parameters(request.args.to_dict() | {"format": request.args.get("source", "")})
    return exporting.chosen(db.session, spec, idents, filters)


def redactor_of_request() -> Redactor | None:
    """Raises `BadPattern` and `MissingLibrary`."""
    keys = [key.strip() for text in request.args.getlist("redact_key") for key in text.split(",")]
    return redactor(keys, request.args.getlist("redact"), secrets=request.args.get("redact_secrets") == "1")

"""Exports: labelled responses and sessions in every format, streamed, with what must not leave masked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from flask import Blueprint, Response, render_template, request

from webapp.exports import base
from webapp.exports.redaction import Redactor, redactor
from webapp.extensions import db
from webapp.store import exporting, filtering
from webapp.store import sessions as session_store
from webapp.store.filenames import safe_name
from webapp.store.labelling import queue
from webapp.web.streaming import streamed

blueprint = Blueprint("exports", __name__)


@blueprint.get("/labels/export")
def index() -> str:
    return render_template(
        "exports/index.html", formats=base.described("labels"), given=request.args, scope=scope_of_request().words
    )


@blueprint.get("/api/labels/export")
def labels_api() -> Response:
    """Labelled responses: all, of sessions (`ids`, several), under the list's filters, or of a queue (`queue`)."""
    name = request.args.get("format") or "jsonl"
    scope, hidden = scope_of_request(), redactor_of_request()
    given: dict[str, Any] = {"sessions": scope.sessions, "turn_ids": scope.turns}
    pieces = exporting.labels(db.session, name, scope=scope.words, redactor=hidden, **given)
    return download(pieces, base.find(name, "labels"), "labels")


@blueprint.get("/api/session/<session_id:ident>/export")
def session_api(ident: str) -> Response:
    """One session as a Markdown report or as a static HTML file."""
    session = session_store.find(db.session, ident)
    name = request.args.get("format") or "html"
    pieces = exporting.session(db.session, name, session, redactor=redactor_of_request())
    return download(pieces, base.find(name, "sessions"), safe_name(session.external_id))


def download(pieces: Iterator[bytes], format_: Any, name: str) -> Response:
    """The pieces as a file; the first is made at once, so that what stops an export is answered with its status."""
    first = next(pieces, b"")
    response = streamed(chain((first,), pieces), format_.media_type)
    how = "inline" if request.args.get("show") == "1" and format_.suffix != ".html" else "attachment"
    response.headers.set("Content-Disposition", how, filename=f"{name}{format_.suffix}")
    return response


@dataclass(frozen=True, slots=True)
class Scope:
    """What is exported, and what that is called."""

    words: str
    sessions: list[int] | set[int] | None = None
    turns: list[int] | None = None


def scope_of_request() -> Scope:
    """Raises `BadFilter` and `NoSuchSession`."""
    if (idents := request.args.getlist("ids")) and not request.args.get("queue"):
        found = [session_store.find(db.session, ident) for ident in idents]
        return Scope(
            f"labels of {len(found)} chosen session{'s' * (len(found) != 1)}", [session.id for session in found]
        )
    if request.args.get("queue"):
        spec = queue.spec_of(request.args, request.args.getlist("ids"))
        return Scope(f"labels of the queue: {spec.words}", turns=exporting.of_queue(db.session, spec))
    filters = filtering.of_parameters(request.args.to_dict() | {"format": request.args.get("source", "")})
    active = filters.active()
    if active:
        words = ", ".join(f"{name} {value}" for name, value in active.items())
        return Scope(f"labels of sessions with {words}", exporting.of_filters(db.session, filters))
    return Scope("all labels")


def redactor_of_request() -> Redactor | None:
    """Raises `BadPattern` and `MissingLibrary`."""
    keys = [key.strip() for text in request.args.getlist("redact_key") for key in text.split(",")]
    return redactor(keys, request.args.getlist("redact"), secrets=request.args.get("redact_secrets") == "1")

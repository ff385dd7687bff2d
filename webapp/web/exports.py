"""Exports: labelled responses and sessions, with what must not leave masked, at once or in the background."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from flask import Blueprint, Response, abort, current_app, jsonify, redirect, render_template, request, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse
from werkzeug.wsgi import wrap_file

from webapp.exports import base
from webapp.exports.redaction import Redactor, redactor
from webapp.extensions import db
from webapp.store import tasks
from webapp.store.exports import exporting
from webapp.store.exports.session_dump import safe_name
from webapp.store.jobs import export_jobs
from webapp.store.labels import queue
from webapp.store.labels.queue_spec import spec_of
from webapp.store.models import Task
from webapp.store.sessions import filters as filtering
from webapp.store.sessions import session_list
from webapp.store.sessions import sessions as session_store
from webapp.web import audit_trail, links, task_pages
from webapp.web.answers import download, page
from webapp.web.api.operation import (
    AFTER,
    FILTERS,
    IDS,
    LIMIT,
    QUEUE,
    REDACTION,
    content,
    json,
    limit_of_request,
    operation,
    parameter,
)
from webapp.web.api.shapes import BINARY, TEXT, Schema, filled, one_of
from webapp.web.sessions import list_filters

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
    content("The export", media_types("labels")),
    query=(
        parameter("format", one_of(base.formats("labels")), "unset: jsonl"),
        parameter("source", TEXT, "sessions of logs in this format: the filter that elsewhere is called format"),
        *QUEUE,
        IDS,
        *REDACTION,
        *(filter_ for filter_ in FILTERS if filter_["name"] != "format"),
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
    content("The report", media_types("sessions")),
    query=(parameter("format", one_of(base.formats("sessions")), "unset: html"), *REDACTION),
    example="?format=report",
)
def session_api(ident: str) -> Response:
    session = session_store.find(db.session, ident)
    name = request.args.get("format") or "html"
    url = url_for("sessions.show", ident=links.ident(session), _external=True)
    pieces = exporting.session(db.session, name, session, redactor=redactor_of_request(), url=url)
    return download(pieces, base.find(name, "sessions"), safe_name(session.external_id))


def scope_of_request() -> tuple[str, dict[str, Any]]:
    """What is exported, in words and as `exporting.labels` takes it. Raises `BadFilter` and `NoSuchSession`."""
    idents = request.args.getlist("ids")
    if request.args.get("queue"):
        spec = spec_of(request.args, idents)
        if not queue.is_drawn(db.session, spec):
            raise filtering.BadFilter("this sample is not drawn yet: open it under Labels and draw it")
        return queue.to_export(db.session, spec)
    filters = filtering.of_parameters(request.args.to_dict() | {"format": request.args.get("source", "")})
    return exporting.chosen(db.session, idents, filters)


def redactor_of_request() -> Redactor | None:
    """Raises `BadPattern` and `MissingLibrary`."""
    keys = [key.strip() for text in request.args.getlist("redact_key") for key in text.split(",")]
    return redactor(keys, request.args.getlist("redact"), secrets=request.args.get("redact_secrets") == "1")


jobs_blueprint = Blueprint("export_jobs", __name__)

_ZIP = {"application/zip": BINARY}
_NOTHING: dict[str, Any] = {"count": 0, "sessions": []}
_AUDITED = 200
"""characters of a selection that the audit log keeps"""


def _made(selection: dict[str, Any]) -> Task:
    """A new export, which the worker begins now, or once what waits before it is done."""
    db.session.rollback()
    number = tasks.make(db.engine, tasks.EXPORT, selection)
    audit_trail.about(export=number, sessions=session_store.words_of(selection)[:_AUDITED])
    return task_pages.find(number, tasks.EXPORT)


@jobs_blueprint.get("/exports", endpoint="index")
def show_tasks() -> AnyResponse:
    return redirect(url_for("tasks.index", kind=tasks.EXPORT), 302)


@jobs_blueprint.get("/exports/new")
def ask() -> str:
    """Ask how the sessions under the list's filters are to be exported."""
    filters = list_filters.of_request()
    return render_template(
        "export_jobs/ask.html",
        active=filters.active(),
        words=session_store.words_of({"filters": filters.active()}).capitalize(),
        page=session_list.page(db.session, filters, limit=1),
        most=session_store.MOST_SELECTED,
        days=current_app.config["SETTINGS"].export_days,
    )


@jobs_blueprint.post("/exports")
def make() -> AnyResponse:
    """An export of the sessions selected in the list (`ids`), else of those under its filters."""
    if idents := request.form.getlist("ids"):
        selection: dict[str, Any] = {"keys": [session.key for session in session_store.selected(db.session, idents)]}
    else:
        selection = {"filters": filtering.of_parameters(request.form.to_dict()).active()}
    return redirect(url_for("export_jobs.show", number=_made(selection).id), 303)


@jobs_blueprint.get("/exports/<int:number>")
def show(number: int) -> Response:
    """The export's page; for htmx what it shows of it."""
    job = task_pages.find(number, tasks.EXPORT)
    expires_at = (job.result or {}).get("expires_at")
    removes_at = datetime.fromisoformat(expires_at) if expires_at else None
    about: dict[str, Any] = {"export": as_dict(job), "name": _name(job), "removes_at": removes_at}
    about |= {"task": job, "days": current_app.config["SETTINGS"].export_days}
    return page("export_jobs/show.html", "export_jobs/_export.html", **about)


def _name(job: Task) -> str:
    return f"sessions-{job.id}.zip"


def as_dict(job: Task) -> dict[str, Any]:
    """An export as the API shows it: `sessions` of `of` are in it, which is None before it began; `deleted` and
    `changed` are sessions to which that happened before they were written: how many, and the first."""
    result, progress = job.result or {}, job.progress
    return filled(
        "Export",
        job,
        **{name: result.get(name, _NOTHING) for name in ("deleted", "changed")},
        cancelled=job.state == "cancelled",
        sessions=result.get("sessions", progress.get("sessions", 0)),
        bytes=result.get("bytes", progress.get("read", 0)),
        url=url_for("export_jobs.show_api", number=job.id),
        file=url_for("export_jobs.file_api", number=job.id) if job.state == "done" else None,
    )


@jobs_blueprint.post("/exports/<int:number>/remove")
def remove(number: int) -> AnyResponse:
    _removed(task_pages.find(number, tasks.EXPORT))
    return redirect(url_for("export_jobs.show", number=number), 303)


def _removed(job: Task) -> Task:
    """Remove the file of an export that is done."""
    db.session.rollback()
    audit_trail.about(export=job.id, sessions=session_store.words_of(job.about)[:_AUDITED])
    export_jobs.remove(db.engine, current_app.config["SETTINGS"], job)
    return task_pages.find(job.id, tasks.EXPORT)


@jobs_blueprint.post("/api/exports")
@operation(
    "Exports",
    "Export sessions in the background",
    {202: json("export", "The export: ask for it until its state is done")},
    about="Of sessions (`ids`, several), else of all under the list's filters when the worker begins.",
    query=(IDS, *FILTERS),
    example="?failed=1",
)
def make_api() -> tuple[Response, int]:
    selection: dict[str, Any]
    if idents := request.args.getlist("ids"):
        found_sessions = [session_store.find(db.session, ident) for ident in dict.fromkeys(idents)]
        selection = {"keys": [session.key for session in found_sessions]}
    else:
        selection = {"filters": list_filters.of_request().active()}
    export = as_dict(_made(selection))
    response = jsonify(export=export)
    response.headers["Location"] = export["url"]
    return response, 202


@jobs_blueprint.get("/api/exports")
@operation(
    "Exports",
    "List exports",
    json("export_page", "The newest first"),
    query=(AFTER, LIMIT),
)
def list_api() -> Response:
    jobs, older = task_pages.page(request.args.get("after"), limit_of_request(task_pages.ROWS_A_PAGE), tasks.EXPORT)
    return jsonify(exports=[as_dict(job) for job in jobs], next=older)


@jobs_blueprint.get("/api/exports/<int:number>")
@operation("Exports", "Read how far an export is", json("export", "The export"))
def show_api(number: int) -> Response:
    return jsonify(export=as_dict(task_pages.find(number, tasks.EXPORT)))


@jobs_blueprint.delete("/api/exports/<int:number>")
@operation(
    "Exports",
    "Cancel an export, or remove its file",
    {202: json("export", "The export: cancelled when its worker next looks, or removed if it was done")},
)
def cancel_api(number: int) -> tuple[Response, int]:
    job = task_pages.cancelled(number, tasks.EXPORT)
    return jsonify(export=as_dict(_removed(job) if job.state == "done" else job)), 202


@jobs_blueprint.get("/api/exports/<int:number>/file")
@operation(
    "Exports",
    "Download an export",
    {200: content("A zip with a session dump each", _ZIP), 206: content("The part that `Range` asked for", _ZIP)},
    refuses={
        409: "It is not written yet, or never will be: `message` says which",
        410: "It was removed",
        412: "It is not the one that `If-Match` names",
        416: "It has no such range",
    },
)
def file_api(number: int) -> AnyResponse:
    """The zip, or the part of it that `Range` asks for, so that a download that broke off can go on.

    Raises `NotReady` and `ExportRemoved`.
    """
    job = task_pages.find(number, tasks.EXPORT)
    stream = export_jobs.opened(current_app.config["SETTINGS"], job)
    export = as_dict(job)
    response = Response(wrap_file(request.environ, stream), mimetype="application/zip", direct_passthrough=True)
    response.content_length = export["bytes"]
    response.headers.set("Content-Disposition", "attachment", filename=_name(job))
    response.headers["Cache-Control"] = "no-cache"
    response.set_etag(export["sha256"] or "")
    try:
        response.make_conditional(request.environ, accept_ranges=True, complete_length=export["bytes"])
        if response.status_code == 412:
            abort(412, "The file is not the one that If-Match names.")
    except HTTPException:  # that, or a range that it has not
        stream.close()
        raise
    return response


jobs_blueprint.get("/exports/<int:number>/file", endpoint="file")(file_api)

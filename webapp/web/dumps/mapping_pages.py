"""Mappings: made over a dump's own first records, looked at before they are used, saved under names."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from flask import Blueprint, Response, current_app, flash, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.dumps.mappings import FIELDS, BadMapping, guessed, outline, paths_of, records
from webapp.dumps.opening import head_of
from webapp.dumps.records import SessionStart
from webapp.extensions import db
from webapp.store import saved
from webapp.store.ingest.result import problem_dict
from webapp.store.jobs import mappings as store
from webapp.store.models import Dump, SavedItem
from webapp.store.sessions import dumps as dump_store
from webapp.web.answers import page
from webapp.web.api.operation import json, json_object, operation, refused
from webapp.web.api.shapes import filled
from webapp.web.dumps import uploads

blueprint = Blueprint("mappings", __name__)

_FIRST = ("raw", "session", "where", "prompt", "model", "role", "time")
ORDER = (*_FIRST, *(field for field in FIELDS if field not in _FIRST))
_MOST_DUMPS = 20


@blueprint.get("/mappings")
def index() -> str:
    saved_mappings = saved.every(db.session, store.KIND)
    dumps = dump_store.page(db.session, limit=200)
    unread = [dump for dump in dumps if (dump.error or {}).get("code") == "unknown_format"]
    return render_template("mappings/index.html", mappings=saved_mappings, unread=unread[:_MOST_DUMPS])


@blueprint.get("/mappings/make")
def make() -> Response:
    """The editor: `dump` is the number of the dump to look at, `saved` that of the mapping to begin with."""
    number, dump = request.args.get("saved", type=int), _dump(request.args.get("dump"))
    saved = None if number is None else store.find(db.session.connection(), number)
    return _editor(_fields(request.args), saved, dump)


def _editor(
    fields: dict[str, str],
    saved: SavedItem | None,
    dump: Dump | None,
    status: int = 200,
    message: str | None = None,
) -> Response:
    """The editor with what these fields read of the dump; without any, with a guess."""
    context: dict[str, Any] = {"saved": saved, "dump": dump, "places": [], "preview": None}
    is_untouched = not fields and "raw" not in request.values
    if is_untouched and saved is not None:
        fields = saved.content
    if dump is not None:
        with store.beginning(current_app.config["SETTINGS"], dump.sha256) as (path, whole):
            head = head_of(path, dump.filename)
            if is_untouched and saved is None:
                fields = guessed(head)
            context["places"] = outline(records(head))
            context["preview"] = store.preview(path, dump.filename, fields, whole=whole) if fields else None
    name = request.values.get("name") or (saved.name if saved else PurePath(dump.filename).stem[:128] if dump else "")
    context |= {"fields": fields, "name": name, "message": message, "order": ORDER}
    return page("mappings/edit.html", "mappings/_preview.html", status, **context)


@blueprint.post("/mappings")
def save() -> AnyResponse:
    """Save the mapping under its name, and read the dump by it where one is named."""
    fields, dump = _fields(request.form), _dump(request.form.get("dump"))
    db.session.rollback()
    try:
        name = store.save(db.engine, request.form.get("name", ""), fields)
    except BadMapping as bad:
        message = str(bad)
        return _editor(fields, None, dump, 422, f"{message[:1].upper()}{message[1:]}.")
    if dump is None:
        flash(f"Saved the mapping {name}.")
        return redirect(url_for("mappings.index"))
    uploads.queue_kept(dump, fields)
    flash(f"Saved the mapping {name}; {dump.filename} is being imported with it.")
    return redirect(url_for("dumps.index"))


@blueprint.post("/mappings/<int:number>/delete")
def delete(number: int) -> AnyResponse:
    flash(f"Deleted the mapping {store.delete(db.engine, number).name}. Dumps imported with it stay.")
    return redirect(url_for("mappings.index"))


def _fields(values: Any) -> dict[str, str]:
    """What the form's fields name; empty ones are left out."""
    return {field: values[field].strip() for field in ORDER if values.get(field, "").strip()}


def _dump(ident: str | None) -> Dump | None:
    return dump_store.find(db.session, ident) if ident else None


api_blueprint = Blueprint("mapping_api", __name__)

Answer = tuple[Response, int]


@api_blueprint.get("/api/dumps/<dump_id>/mapping")
@operation(
    "Dumps",
    "Suggest a mapping for a log",
    json("suggestion", "A first guess, and the paths of the log's first records with sample texts"),
    refuses={422: "The stored file is damaged"},
)
def suggest(dump_id: str) -> Answer:
    dump = dump_store.find(db.session, dump_id)
    with store.beginning(current_app.config["SETTINGS"], dump.sha256) as (path, _):
        head = head_of(path, dump.filename)
    places = outline(records(head))
    return jsonify(filled("suggestion", None, mapping=guessed(head), paths=places)), 200


@api_blueprint.post("/api/dumps/<dump_id>/mapping")
@operation(
    "Dumps",
    "Read a log by a mapping",
    {
        200: json("preview", "With `dry_run` the first turns; nothing is stored"),
        202: json("queued", "The job that reads it"),
    },
    body=json("mapping", "Paths by the field that they fill", {"mapping": {"raw": "$.out.text"}, "dry_run": True}),
    refuses={422: "The mapping cannot be read, or the body is not a JSON object"},
)
def read(dump_id: str) -> Answer:
    dump = dump_store.find(db.session, dump_id)
    body = json_object('{"mapping": {"raw": "$.PATH"}}')
    fields = body.get("mapping")
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        return refused("bad_mapping", 'send {"mapping": {"raw": "$.PATH", …}}, with texts as values', "mapping")
    try:
        paths_of(fields)
    except BadMapping as bad:
        return refused("bad_mapping", str(bad), "mapping")
    if body.get("dry_run") is True:
        with store.beginning(current_app.config["SETTINGS"], dump.sha256) as (path, whole):
            preview = store.preview(path, dump.filename, fields, whole=whole)
        shapes = ("session_start" if isinstance(record, SessionStart) else "turn_start" for record in preview.records)
        records = [filled(shape, record) for shape, record in zip(shapes, preview.records, strict=True)]
        problems = [problem_dict(problem) for problem in preview.problems]
        return jsonify(preview=filled("previewed", preview, records=records, problems=problems)), 200
    db.session.rollback()
    return uploads.queued([uploads.queue_kept(dump, fields)])

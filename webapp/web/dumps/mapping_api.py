"""Reads a kept dump by a mapping: what a client does whose file no format recognised."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, current_app, jsonify

from webapp.dumps import SessionStart
from webapp.dumps.formats.mapped import BadMapping
from webapp.dumps.formats.mapped import plugin as mapped
from webapp.dumps.outline import guess_of, outline
from webapp.dumps.records import Problem, Turn
from webapp.extensions import db
from webapp.store.ingest.result import problem_dict
from webapp.store.jobs import mappings as store
from webapp.store.sessions import dumps as dump_store
from webapp.web.api.operation import json, operation
from webapp.web.api.work import MAPPING, PREVIEW, QUEUED, SUGGESTION
from webapp.web.dumps import upload_answers, uploads
from webapp.web.json_bodies import json_object, refused

blueprint = Blueprint("mapping_api", __name__)

Answer = tuple[Response, int]


@blueprint.get("/api/dumps/<dump_id>/mapping")
@operation(
    "Dumps",
    "Suggest a mapping for a dump",
    json(SUGGESTION, "A first guess, and the paths of the dump's first records with sample texts"),
    refuses={422: "The stored file is damaged"},
)
def suggest(dump_id: str) -> Answer:
    dump = dump_store.find(db.session, dump_id)
    with store.beginning(current_app.config["SETTINGS"], dump.sha256) as (path, _):
        places, guess = outline(path, dump.filename), guess_of(path, dump.filename)
    return jsonify(mapping=guess, paths=[{"path": place.path, "text": place.text} for place in places]), 200


@blueprint.post("/api/dumps/<dump_id>/mapping")
@operation(
    "Dumps",
    "Read a dump by a mapping",
    {
        200: json(PREVIEW, "With `dry_run` the first turns; nothing is stored"),
        202: json(QUEUED, "The job that reads it"),
    },
    body=json(MAPPING, "Paths by the field that they fill", {"mapping": {"raw": "$.out.text"}, "dry_run": True}),
    refuses={422: "The mapping cannot be read, or the body is not a JSON object"},
)
def read(dump_id: str) -> Answer:
    dump = dump_store.find(db.session, dump_id)
    body = json_object('{"mapping": {"raw": "$.PATH"}}')
    fields = body.get("mapping")
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        return refused("bad_mapping", 'send {"mapping": {"raw": "$.PATH", …}}, with texts as values', "mapping")
    try:
        mapped.by(fields)
    except BadMapping as bad:
        return refused("bad_mapping", str(bad), "mapping")
    if body.get("dry_run") is True:
        with store.beginning(current_app.config["SETTINGS"], dump.sha256) as (path, whole):
            return jsonify(preview=_preview(store.preview(path, dump.filename, fields, whole=whole))), 200
    db.session.rollback()
    return upload_answers.queued([uploads.queue_kept(dump, fields)])


def _preview(preview: store.Preview) -> dict[str, Any]:
    return {
        "records": [_record(record) for record in preview.records],
        "problems": [problem_dict(problem) for problem in preview.problems if isinstance(problem, Problem)],
        "error": preview.error,
    }


def _record(record: SessionStart | Turn) -> dict[str, Any]:
    if isinstance(record, SessionStart):
        return {"session": record.external_id}
    return {"kind": record.kind, "raw": record.raw, "model": record.model}

"""Dumps: what has come in, and the doors through which more comes."""

from __future__ import annotations

from typing import Any

from flask import (
    Blueprint,
    Response,
    current_app,
    flash,
    jsonify,
    make_response,
    redirect,
    render_template,
    request,
    send_file,
    url_for,
)
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store import dumps as store
from webapp.store import jobs, kept, mappings
from webapp.store.filenames import safe_name
from webapp.store.ingest import Ingested
from webapp.web import background, dumprows
from webapp.web.render import wants_partial
from webapp.web.taking import Asked, Refused, asked, filename_of_query, is_small, leave, take

blueprint = Blueprint("dumps", __name__)

ROWS_A_PAGE = 50
SESSIONS_A_PAGE = 100
PROBLEMS_A_PAGE = 50
Taken = Ingested | Refused | int
"""What became of a file: it was read, or refused, or is a job with this number."""


@blueprint.get("/dumps")
def index() -> str:
    return _list([])


def _list(sent: list[dumprows.Row], message: str | None = None) -> str:
    """The page; `sent` are files of this request that left nothing behind but words."""
    before = request.args.get("before", type=int)
    live = [] if before else jobs.shown(db.session.connection(), current_app.config["SETTINGS"])
    if any(job.live for job in live):
        background.wake()
    hidden = {job.dump_id for job in live if job.dump_id is not None}
    found = store.page(db.session, limit=ROWS_A_PAGE + 1, before=before, without=hidden)
    rows = [dumprows.of_dump(dump) for dump in found[:ROWS_A_PAGE]]
    return render_template(
        "dumps/index.html",
        sent=sent,
        jobs=[dumprows.of_job(job) for job in live],
        rows=rows,
        older=rows[-1].dump if len(found) > ROWS_A_PAGE else None,
        before=before,
        message=message,
        mappings=mappings.every(db.session.connection()),
    )


@blueprint.post("/dumps")
def upload() -> AnyResponse | tuple[str, int]:
    files = [file for file in request.files.getlist("file") if file.filename]
    if not files:
        return _list([], "Choose at least one file first."), 422
    how = asked(request.form)
    taken = [(file.filename or "upload", _taken(file, how)) for file in files]
    status = max((result.status for _, result in taken if isinstance(result, Refused)), default=200)
    rows = [_row(name, result) for name, result in taken]
    if wants_partial():
        return make_response(render_template("dumps/_rows.html", rows=rows), status)
    if status != 200:
        return _list([row for row in rows if row.code]), status
    for name, result in taken:
        flash(summary(name, result))
    return redirect(url_for("dumps.index"))


def _taken(file: FileStorage, how: Asked) -> Taken:
    name = file.filename or "upload"
    return take(file.stream, name, how) if is_small(file.stream) else leave(file.stream, name, how)


def _row(name: str, result: Taken) -> dumprows.Row:
    if isinstance(result, Refused):
        dump = store.find(db.session, result.dump) if result.dump is not None else None
        return dumprows.of_refused(result, dump)
    if isinstance(result, Ingested):
        return dumprows.of_ingested(result)
    return dumprows.of_job(jobs.find(db.session.connection(), current_app.config["SETTINGS"], result))


def summary(name: str, result: Taken) -> str:
    """`ui_run.json: 1 session ingested`, that nothing in it was new, or that it is being read."""
    if isinstance(result, Refused):
        return f"{name}: {result.message}"
    if not isinstance(result, Ingested):
        return f"{name}: received, and being read."
    if not result.created:
        return f"{name}: already here, nothing changed."
    count = len(result.sessions)
    return f"{name}: {count:,} session{'' if count == 1 else 's'} ingested."


@blueprint.get("/dumps/<ident>")
def show(ident: str) -> str:
    dump = store.find(db.session, ident)
    after, page = request.args.get("after", 0, type=int), max(1, request.args.get("problems", 1, type=int))
    held = store.sessions_of(db.session, dump.id, after=after, limit=SESSIONS_A_PAGE + 1)
    problems = store.problems_of(db.session, dump.id)
    first = (page - 1) * PROBLEMS_A_PAGE
    job = jobs.live_of(db.session.connection(), dump.id)
    return render_template(
        "dumps/show.html",
        dump=dump,
        row=dumprows.of_dump(dump),
        held=held[:SESSIONS_A_PAGE],
        after=held[SESSIONS_A_PAGE - 1].id if len(held) > SESSIONS_A_PAGE else None,
        problems=problems[first : first + PROBLEMS_A_PAGE],
        known=len(problems),
        first=first,
        page=page if first + PROBLEMS_A_PAGE < len(problems) else None,
        job=job and dumprows.of_job(jobs.find(db.session.connection(), current_app.config["SETTINGS"], job)),
        kept=kept.path_of(current_app.config["SETTINGS"].data, dump.sha256).exists(),
    )


@blueprint.get("/dumps/<ident>/file")
def download(ident: str) -> Response:
    """The dump as it came in, decompressed."""
    line = store.find(db.session, ident)
    file = store.open_kept(current_app.config["SETTINGS"], line)
    name = safe_name(line.filename)
    response = send_file(file, mimetype="application/octet-stream", as_attachment=True, download_name=name)
    response.content_length = line.bytes
    return response


@blueprint.post("/dumps/<ident>/again")
def read_again(ident: str) -> AnyResponse:
    """Read a kept dump with today's formats, behind the page."""
    dump = store.find(db.session, ident)
    connection = db.session.connection()
    number = jobs.live_of(connection, dump.id)
    db.session.rollback()
    if number is None:
        settings = current_app.config["SETTINGS"]
        number = jobs.make(db.engine, settings, filename=dump.filename, dump_id=dump.id, size=dump.bytes)
    background.wake()
    return redirect(url_for("dumps.show", ident=dump.sha256))


@blueprint.post("/api/dumps")
def upload_api() -> tuple[Response, int]:
    how = asked(request.args)
    behind = request.args.get("background") == "1"
    if request.mimetype != "multipart/form-data":
        name = filename_of_query()
        if behind:
            return queued([leave(request.stream, name, how)])
        return answer([take(request.stream, name, how)])
    files = request.files.getlist("file")
    if not files:
        return jsonify(error={"code": "no_file", "message": "the form has no part called file", "at": None}), 422
    if behind:
        return queued([leave(file.stream, file.filename or "upload", how) for file in files])
    return answer([take(file.stream, file.filename or "upload", how) for file in files])


def queued(numbers: list[int]) -> tuple[Response, int]:
    """202, with each file's job and where to ask how far it is."""
    found = [{"id": number, "url": url_for("jobs.show_api", number=number)} for number in numbers]
    response = jsonify(job=found[0], **({"jobs": found} if len(found) > 1 else {}))
    response.headers["Location"] = found[0]["url"]
    return response, 202


def answer(results: list[Ingested | Refused]) -> tuple[Response, int]:
    """One file: its dump, or its error. Several: the first's, and `dumps` with each one's."""
    refused = [result for result in results if isinstance(result, Refused)]
    if len(refused) == len(results):
        first = refused[0]
        return jsonify(error=first.as_dict(), dumps=[result_dict(result) for result in results]), first.status
    first_taken = next(result for result in results if isinstance(result, Ingested))
    body = result_dict(first_taken)
    if len(results) > 1:
        body["dumps"] = [result_dict(result) for result in results]
    created = any(isinstance(result, Ingested) and result.created for result in results)
    return jsonify(body), 201 if created else 200


def result_dict(result: Ingested | Refused) -> dict[str, Any]:
    if isinstance(result, Refused):
        return {"filename": result.filename, "error": result.as_dict()}
    return {
        "dump": dump_dict(result.dump),
        "sessions": result.sessions,
        "problems": [{"at": problem.at, "reason": problem.reason} for problem in result.problems],
    }


def dump_dict(line: store.DumpLine) -> dict[str, Any]:
    return {
        "id": line.id,
        "sha256": line.sha256,
        "filename": line.filename,
        "format": line.format,
        "bytes": line.bytes,
        "state": line.state,
        "sessions": line.session_count,
        "turns": line.turn_count,
        "problems": line.problem_count,
        "received_at": line.received_at.isoformat(),
    }


@blueprint.errorhandler(RequestEntityTooLarge)
def too_large(error: HTTPException) -> tuple[Response | str, int]:
    limit = current_app.config["SETTINGS"].max_upload // (1024 * 1024)
    message = f"The upload is larger than {limit} MB. Raise FENCEPOST_MAX_UPLOAD, or use `fencepost ingest FILE`."
    if request.path.startswith("/api/"):
        return jsonify(error={"code": "too_large", "message": message, "at": f"byte {limit * 1024 * 1024}"}), 413
    return render_template("error.html", status=413, message=message), 413

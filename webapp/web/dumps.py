"""Dumps: what has come in, and the doors through which more comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Any, BinaryIO, cast

from flask import (
    Blueprint,
    Response,
    current_app,
    flash,
    jsonify,
    redirect,
    render_template,
    request,
    send_file,
    url_for,
)
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.wrappers import Response as AnyResponse

from webapp.dumps.records import BadDump, TooLarge, UnknownFormat
from webapp.extensions import db
from webapp.store import dumps as store
from webapp.store.filenames import safe_name
from webapp.store.ingest import Ingested, ingest
from webapp.web.render import wants_partial

blueprint = Blueprint("dumps", __name__)


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that could not be read, in the words and the status of the API."""

    filename: str
    status: int
    code: str
    message: str
    at: str | None

    def as_dict(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "at": self.at}


def take(stream: IO[bytes], filename: str) -> Ingested | Refused:
    """Ingest one file from a request."""
    wanted = request.args.get("format") or None
    home = request.args.get("home") or None
    try:
        return ingest(
            db.engine,
            current_app.config["SETTINGS"],
            cast(BinaryIO, stream),
            filename=filename,
            format=wanted,
            home=home,
        )
    except UnknownFormat as error:
        return Refused(filename, 415, "unknown_format", str(error), "byte 0")
    except TooLarge as error:
        return Refused(filename, 413, "too_large", error.reason, error.at)
    except BadDump as error:
        return Refused(filename, 422, "bad_dump", error.reason, error.at)


@blueprint.get("/dumps")
def index() -> str:
    return render_template("dumps/index.html", dumps=store.page(db.session), results=[])


@blueprint.get("/dumps/<ident>/file")
def download(ident: str) -> Response:
    """The dump as it came in, decompressed."""
    line = store.find(db.session, ident)
    file = store.open_kept(current_app.config["SETTINGS"], line)
    name = safe_name(line.filename)
    response = send_file(file, mimetype="application/octet-stream", as_attachment=True, download_name=name)
    response.content_length = line.bytes
    return response


@blueprint.post("/dumps")
def upload() -> str | AnyResponse | tuple[str, int]:
    files = [file for file in request.files.getlist("file") if file.filename]
    if not files:
        message = "Choose at least one file first."
        return render_template("dumps/index.html", dumps=store.page(db.session), results=[], message=message), 422
    results = [take(file.stream, file.filename or "upload") for file in files]
    if wants_partial():
        return render_template("dumps/_list.html", dumps=store.page(db.session), results=results)
    if any(isinstance(result, Refused) for result in results):
        return render_template("dumps/index.html", dumps=store.page(db.session), results=results), 422
    for result in results:
        flash(summary(result) if isinstance(result, Ingested) else result.message)
    return redirect(url_for("dumps.index"))


def summary(result: Ingested) -> str:
    """`ui_run.json: 1 session, 9 turns` or that nothing in it was new."""
    if not result.created:
        return f"{result.dump.filename}: already here, nothing changed."
    return f"{result.dump.filename}: {len(result.sessions)} session(s) ingested."


@blueprint.post("/api/dumps")
def upload_api() -> tuple[Response, int]:
    if request.mimetype == "multipart/form-data":
        files = request.files.getlist("file")
        if not files:
            return jsonify(error={"code": "no_file", "message": "the form has no part called file", "at": None}), 422
        return answer([take(file.stream, file.filename or "upload") for file in files])
    return answer([take(request.stream, request.args.get("filename") or "upload")])


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

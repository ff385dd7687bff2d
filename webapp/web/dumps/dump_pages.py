"""Dumps: what has come in, and the doors through which more comes."""

from __future__ import annotations

from typing import IO, BinaryIO, cast

from flask import Blueprint, Response, current_app, flash, redirect, render_template, request, send_file, url_for
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.wrappers import Response as AnyResponse

from webapp.dumps.answer_alarm import in_words
from webapp.dumps.reading import known_formats
from webapp.dumps.session_keys import NAMES, OPTION
from webapp.extensions import db, wake
from webapp.parsing import profiles
from webapp.parsing.words import counted
from webapp.store import append, saved, tasks
from webapp.store.db.dialect import clock
from webapp.store.exports.session_dump import safe_name
from webapp.store.files import StoreUnreachable
from webapp.store.ingest import dump_files
from webapp.store.ingest.result import IngestResult
from webapp.store.jobs import imports, mappings
from webapp.store.sessions import dumps as store
from webapp.web import audit_trail, home_pages
from webapp.web.answers import wants_partial
from webapp.web.api.operation import SWITCH, content, json, operation, parameter, refused
from webapp.web.api.shapes import BINARY, TEXT, shape
from webapp.web.dumps import dump_rows, uploads
from webapp.web.dumps.dump_rows import RefusedUpload
from webapp.web.dumps.uploads import Outcome, UploadOptions, ingest_upload, queue_upload, upload_options

blueprint = Blueprint("dumps", __name__)

ROWS_A_PAGE = 50
SESSIONS_A_PAGE = 100


@blueprint.get("/dumps")
def index() -> str:
    return _list([])


def _list(sent: list[dump_rows.DumpRow], message: str | None = None) -> str:
    """The page; `sent` are files of this request that left nothing behind but words."""
    before = request.args.get("before", type=int)
    live = [] if before else imports.shown(db.session.connection())
    exports = tasks.page(db.session.connection(), tasks.EXPORT, live=True)
    if exports or any(job.live for job in live):
        wake()
    hidden = {dump for job in live if (dump := job.dump_id) is not None}
    dumps = store.page(db.session, limit=ROWS_A_PAGE + 1, before=before, without=hidden)
    rows = [dump_rows.of_dump(dump) for dump in dumps[:ROWS_A_PAGE]]
    return render_template(
        "dumps/index.html",
        sent=sent,
        jobs=[dump_rows.of_job(job) for job in live],
        exports=exports,
        rows=[row for row in rows if row.ident not in {row_.ident for row_ in sent}],
        older=rows[-1].dump if len(dumps) > ROWS_A_PAGE else None,
        before=before,
        message=message,
        mappings=saved.every(db.session, mappings.KIND),
        session_key_names=NAMES,
        profile_names=list(profiles()),
        question=home_pages.question_of_list(),
    )


@blueprint.post("/dumps")
def upload() -> AnyResponse | tuple[str, int]:
    files = [file for file in request.files.getlist("file") if file.filename]
    if not files:
        return _list([], "Choose at least one file first."), 422
    audit_trail.about(files=[file.filename for file in files])
    how = upload_options(request.form)
    results = [(file.filename or "upload", _taken(file, how)) for file in files]
    status = max((result.status for _, result in results if isinstance(result, RefusedUpload)), default=200)
    rows = [_row(name, result) for name, result in results]
    if wants_partial():
        return render_template("dumps/_rows.html", rows=rows), status
    if len(rows) == 1 and rows[0].mappable:
        flash(f"No format knows {rows[0].filename}: name its fields.")
        return redirect(url_for("mappings.make", dump=rows[0].dump))
    if status != 200:
        return _list([row for row in rows if row.code]), status
    for row in rows:
        words = f"{row.tag[0]}." if row.job else f"{counted(row.sessions, 'session')} ingested."
        flash(f"{row.filename}: {row.outcome or words}")
    return redirect(url_for("dumps.index"))


def _taken(file: FileStorage, how: UploadOptions) -> Outcome:
    name = file.filename or "upload"
    is_wanted = request.form.get("ask") == "1"
    keys = uploads.keys_to_ask_about(cast(BinaryIO, file.stream), name, how, is_wanted=is_wanted)
    if keys is None and uploads.is_small(file.stream):
        return ingest_upload(file.stream, name, how)
    return queue_upload(file.stream, name, how, keys)


def _row(name: str, result: Outcome) -> dump_rows.DumpRow:
    if isinstance(result, RefusedUpload):
        dump = store.find(db.session, result.dump) if result.dump is not None else None
        return dump_rows.of_refused(result, dump)
    if isinstance(result, IngestResult):
        return dump_rows.of_dump(result.dump, created=result.created, changed=result.changed)
    return dump_rows.of_job(tasks.find(db.session.connection(), result))


@blueprint.get("/dumps/<ident>")
def show(ident: str) -> str:
    dump = store.find(db.session, ident)
    after = request.args.get("after", 0, type=int)
    sessions = store.sessions_of(db.session, dump.id, after=after, limit=SESSIONS_A_PAGE + 1)
    job = imports.live_of(db.session.connection(), dump.id)
    return render_template(
        "dumps/show.html",
        dump=dump,
        question=home_pages.question_of_dump(dump.id),
        row=dump_rows.of_dump(dump),
        not_in_log=in_words(dump.not_in_log or ()),
        session_key=store.session_key_of(db.session, dump.id),
        has_keys=dump.format in known_formats() and known_formats()[dump.format].by_key,
        session_key_names=NAMES,
        held=sessions[:SESSIONS_A_PAGE],
        after=sessions[SESSIONS_A_PAGE - 1].id if len(sessions) > SESSIONS_A_PAGE else None,
        job=job and dump_rows.of_job(tasks.find(db.session.connection(), job)),
        kept=_is_kept(dump.sha256),
    )


def _is_kept(sha256: str) -> bool | None:
    """Whether the file of a dump is kept; None where its store cannot be reached."""
    try:
        return dump_files.find(current_app.config["SETTINGS"], sha256) is not None
    except StoreUnreachable as error:
        current_app.logger.error("%s", error)
        return None


@blueprint.get("/dumps/<ident>/file")
def download(ident: str) -> Response:
    """The dump as it came in, decompressed."""
    line = store.find(db.session, ident)
    file = dump_files.open_kept(current_app.config["SETTINGS"], line.sha256)
    name = safe_name(line.filename)
    response = send_file(file, mimetype="application/octet-stream", as_attachment=True, download_name=name)
    response.content_length = line.bytes
    return response


@blueprint.post("/dumps/<ident>/again")
def read_again(ident: str) -> AnyResponse:
    """Read a kept dump with today's formats, behind the page."""
    dump = store.find(db.session, ident)
    number = imports.live_of(db.session.connection(), dump.id)
    db.session.rollback()
    if number is None:
        key = request.form.get("session_key", "").strip()
        uploads.queue_kept(dump, {OPTION: key} if key else None)
    else:
        wake()
    return redirect(url_for("dumps.show", ident=dump.sha256))


@blueprint.post("/api/dumps")
@operation(
    "Dumps",
    "Import a dump",
    {
        201: json("read", "It was read"),
        200: json("read", "Nothing in it was new"),
        202: json("queued", "With `background`, and for SQLite and Parquet: the job that reads it"),
    },
    about="Plain, gzip or zstd. Of several files `dumps` says what became of each.",
    query=(
        parameter("filename", TEXT, "what the file is called"),
        parameter("format", TEXT, "its format; unset: recognised"),
        parameter("home", TEXT, "the parser of its program"),
        parameter("map", TEXT, "a saved mapping's name"),
        parameter("session_key", TEXT, "the key that names the session of each entry"),
        parameter("background", SWITCH, "1: read in the background"),
    ),
    body=content(
        "The file, or several as parts called `file`",
        {"application/octet-stream": BINARY, "multipart/form-data": shape("upload")},
    ),
    refuses={
        415: "Unknown format (`dump` has the id of the stored file, for a mapping), or unsupported compression",
        422: "It cannot be read, with the place; or the form has no file",
    },
    example="?filename=session.json",
)
def upload_api() -> tuple[Response, int]:
    how = upload_options(request.args)
    files: list[tuple[IO[bytes], str]] = [(request.stream, request.args.get("filename") or "upload")]
    if request.mimetype == "multipart/form-data":
        files = [(file.stream, file.filename or "upload") for file in request.files.getlist("file")]
    if not files:
        return refused("no_file", "the form has no part called file")
    if request.args.get("background") == "1":
        return uploads.queued([queue_upload(stream, name, how) for stream, name in files])
    before = clock()
    sent = [(name, ingest_upload(stream, name, how)) for stream, name in files]
    if request.args.get("format") == "recorder":
        keys = [key for _, result in sent if isinstance(result, IngestResult) for key in result.keys]
        append.mark_watched(db.engine, keys, before)
    return uploads.answer(sent)


@blueprint.errorhandler(RequestEntityTooLarge)
def too_large(error: HTTPException) -> tuple[Response | str, int]:
    limit = current_app.config["SETTINGS"].max_upload // (1024 * 1024)
    message = f"The upload is larger than {limit} MB. Raise FENCEPOST_MAX_UPLOAD, or use `fencepost ingest FILE`."
    if request.path.startswith("/api/"):
        return refused("too_large", message, f"byte {limit * 1024 * 1024}", 413)
    return render_template("error.html", status=413, message=message), 413

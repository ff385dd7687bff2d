"""Jobs: how far an ingest behind a request is, and how to stop it."""

from __future__ import annotations

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, abort, current_app, flash, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.dumps.session_keys import OPTION
from webapp.extensions import db
from webapp.parsing.words import counted
from webapp.scan.files import FoundLogs, on_this_machine
from webapp.store.jobs import imports
from webapp.store.models import Task
from webapp.store.sessions import dumps as dump_store
from webapp.store.tasks import IMPORT
from webapp.web import task_pages
from webapp.web.answers import page, wants_partial
from webapp.web.api.operation import json, operation
from webapp.web.api.shapes import JOB, filled, record, ref
from webapp.web.dumps import dump_rows
from webapp.web.dumps.uploads import UploadOptions, queue_upload

blueprint = Blueprint("jobs", __name__)


@blueprint.get("/dumps/jobs/<int:number>")
def show(number: int) -> str | AnyResponse:
    """The job's row: its dump's own, once that is there for good."""
    job = task_pages.find(number, IMPORT)
    dump = job.dump_id
    return _answer(job, url_for("dumps.index") if dump is None or job.live else url_for("dumps.show", ident=dump))


def _answer(job: Task, address: str) -> str | AnyResponse:
    """The job's row for htmx; everybody else goes to `address`."""
    if not wants_partial():
        return redirect(address)
    if job.live or job.dump_id is None:
        return render_template("dumps/_row.html", row=dump_rows.of_job(job))
    dump = dump_store.find(db.session, job.dump_id)
    created = (job.result or {}).get("created", True)
    return render_template("dumps/_row.html", row=dump_rows.of_dump(dump, created=created))


@blueprint.post("/dumps/jobs/<int:number>/sessions")
def choose_key(number: int) -> str | AnyResponse:
    """Let a held job be read with the session key that was chosen: `other`, typed, before `key`."""
    task_pages.find(number, IMPORT)
    db.session.rollback()
    key = request.form.get("other", "").strip() or request.form.get("key", "").strip()
    imports.release(db.engine, number, {OPTION: key} if key else None)
    return _answer(task_pages.find(number, IMPORT), url_for("dumps.index"))


@blueprint.post("/dumps/jobs/<int:number>/cancel")
def cancel(number: int) -> str | AnyResponse:
    return _answer(task_pages.cancelled(number, IMPORT), url_for("dumps.index"))


@blueprint.get("/api/jobs/<int:number>")
@operation("Dumps", "Read how far a job is", json(record(job=ref("Job")), "The job"))
def show_api(number: int) -> Response:
    return jsonify(job=job_dict(task_pages.find(number, IMPORT)))


@blueprint.delete("/api/jobs/<int:number>")
@operation("Dumps", "Ask a job to stop", {202: json(record(job=ref("Job")), "The job; what is already stored is kept")})
def cancel_api(number: int) -> tuple[Response, int]:
    return jsonify(job=job_dict(task_pages.cancelled(number, IMPORT))), 202


def job_dict(job: Task) -> dict[str, Any]:
    """A job as the API shows it; `progress` counts bytes of its phase, and what was found so far."""
    file = {name: job.about[name] for name in ("filename", "bytes")}
    return filled(JOB, job, **file, cancelled=job.state == "cancelled", dump=job.dump)


machine_logs_blueprint = Blueprint("machine_logs", __name__, url_prefix="/machine-logs")

_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via")
"""headers of a proxy, behind which the browser may be anywhere"""


@machine_logs_blueprint.app_template_global()
def is_this_machine() -> bool:
    """Whether the browser is on the server's own machine, and the server asks nobody who they are."""
    if current_app.config["SETTINGS"].asks_login or any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ip_address(request.remote_addr or "").is_loopback
    except ValueError:
        return False


@machine_logs_blueprint.get("")
def index() -> AnyResponse:
    """The programs whose logs are there, with their numbers; nothing of them is read yet."""
    return page("machine_logs/index.html", "machine_logs/_offer.html", found=_found())


@machine_logs_blueprint.post("")
def add() -> AnyResponse:
    """Queue the logs of one program, or of all, as if they had been uploaded."""
    program, queued = request.form.get("program", ""), 0
    for file in _found().files:
        if program in ("", file.program):
            try:
                with Path(file.path).open("rb") as stream:
                    queue_upload(stream, file.name, UploadOptions(None, None, None))
            except OSError as error:
                flash(f"{file.path} cannot be read: {error.strerror or error}")
            else:
                queued += 1
    flash(f"{counted(queued, 'log')} of this machine {'is' if queued == 1 else 'are'} being read.")
    return redirect(url_for("dumps.index"), 303)


def _found() -> FoundLogs:
    if not is_this_machine():
        abort(404)
    return on_this_machine(os.environ, Path.cwd(), None)

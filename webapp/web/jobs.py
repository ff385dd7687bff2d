"""Jobs: how far an ingest behind a request is, and how to stop it."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, current_app, jsonify, redirect, render_template, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store import dumps as dump_store
from webapp.store import jobs as store
from webapp.web import background, dumprows
from webapp.web.render import wants_partial

blueprint = Blueprint("jobs", __name__)


def _find(number: int) -> store.JobLine:
    """The job; whoever asks after one that is live sees to it that there is a worker."""
    job = store.find(db.session.connection(), current_app.config["SETTINGS"], number)
    if job.live:
        background.wake()
    return job


@blueprint.get("/dumps/jobs/<int:number>")
def show(number: int) -> str | AnyResponse:
    """The job's row: its dump's own, once that is there for good."""
    job = _find(number)
    if wants_partial():
        return render_template("dumps/_row.html", row=_row(job))
    dump = job.dump_id
    return redirect(url_for("dumps.index") if dump is None or job.live else url_for("dumps.show", ident=dump))


def _row(job: store.JobLine) -> dumprows.Row:
    if job.live or job.dump_id is None:
        return dumprows.of_job(job)
    said = None if (job.result or {}).get("created", True) else "This is already here: nothing changed."
    return dumprows.of_dump(dump_store.find(db.session, job.dump_id), said)


@blueprint.post("/dumps/jobs/<int:number>/cancel")
def cancel(number: int) -> str | AnyResponse:
    job = _stopped(number)
    if wants_partial():
        return render_template("dumps/_row.html", row=_row(job))
    return redirect(url_for("dumps.index"))


def _stopped(number: int) -> store.JobLine:
    """Ask the job to stop where it still can."""
    if _find(number).live:
        store.cancel(current_app.config["SETTINGS"], number)
    return _find(number)


@blueprint.get("/api/jobs/<int:number>")
def show_api(number: int) -> Response:
    return jsonify(job=job_dict(_find(number)))


@blueprint.delete("/api/jobs/<int:number>")
def cancel_api(number: int) -> tuple[Response, int]:
    return jsonify(job=job_dict(_stopped(number))), 202


def job_dict(job: store.JobLine) -> dict[str, Any]:
    """A job as the API shows it; `progress` counts bytes of its phase, and what was found so far."""
    return {
        "id": job.id,
        "state": job.state,
        "filename": job.filename,
        "bytes": job.bytes,
        "cancelled": job.asked,
        "progress": job.progress,
        "dump": job.dump_id,
        "result": job.result,
        "made_at": job.made_at.isoformat(),
        "ended_at": job.ended_at and job.ended_at.isoformat(),
    }

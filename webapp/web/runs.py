"""Runs: a profile over everything, or over what filters leave; asked for here, done by the worker."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store.jobs import run_queue as store
from webapp.store.sessions.filters import Filters, of_parameters
from webapp.web.api.operation import json, operation
from webapp.web.api.parameters import FILTERS
from webapp.web.api.shapes import record, ref
from webapp.web.dumps import worker_process
from webapp.web.render import wants_partial

blueprint = Blueprint("runs", __name__)


def queued(name: str, filters: Filters) -> store.RunLine:
    """A run that the worker begins now, or once those before it are finished."""
    db.session.rollback()
    number = store.queue(db.engine, name, filters)
    worker_process.wake()
    return _find(number)


def _find(number: int) -> store.RunLine:
    """The run; whoever asks after one that is live sees to it that there is a worker."""
    run = store.find(db.session.connection(), number)
    if run.live:
        worker_process.wake()
    return run


def _answer(run: store.RunLine) -> str | AnyResponse:
    if wants_partial():
        return render_template("profiles/_run.html", run=run)
    return redirect(url_for("profiles.show", name=run.profile, _anchor="runs"), 303)


@blueprint.post("/profiles/<path:name>/runs")
def make(name: str) -> str | AnyResponse:
    return _answer(queued(name, of_parameters(request.form.to_dict())))


@blueprint.get("/runs/<int:number>")
def show(number: int) -> str | AnyResponse:
    return _answer(_find(number))


@blueprint.post("/runs/<int:number>/cancel")
def cancel(number: int) -> str | AnyResponse:
    return _answer(_cancelled(number))


def _cancelled(number: int) -> store.RunLine:
    _find(number)
    db.session.rollback()
    store.cancel(db.engine, number)
    return _find(number)


@blueprint.post("/api/profiles/<path:name>/runs")
@operation(
    "Profiles",
    "Run a profile over stored responses",
    {202: json(record(run=ref("Run")), "The run: ask for it until its state is done")},
    query=FILTERS,
    refuses={409: "The profile cannot run here"},
    example="?failed=1",
)
def make_api(name: str) -> tuple[Response, int]:
    return jsonify(run=run_dict(queued(name, of_parameters(request.args.to_dict())))), 202


@blueprint.get("/api/runs/<int:number>")
@operation("Profiles", "Read a run", json(record(run=ref("Run")), "The run"))
def show_api(number: int) -> Response:
    return jsonify(run=run_dict(_find(number)))


@blueprint.delete("/api/runs/<int:number>")
@operation("Profiles", "Cancel a run", {202: json(record(run=ref("Run")), "The run; what is already stored is kept")})
def cancel_api(number: int) -> tuple[Response, int]:
    return jsonify(run=run_dict(_cancelled(number))), 202


def run_dict(run: store.RunLine) -> dict[str, Any]:
    """A run as the API shows it; `progress` goes from 0 to 1, `counts` is null before the first chunk."""
    return {
        **{name: getattr(run, name) for name in ("id", "profile", "filters", "state", "progress")},
        "counts": run.counts or None,
        "started_at": run.started_at and run.started_at.isoformat(),
        "finished_at": run.finished_at and run.finished_at.isoformat(),
    }

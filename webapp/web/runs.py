"""Replays: a profile over everything, or over what filters leave; asked for here, done by the worker."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store import tasks
from webapp.store.jobs import replays as store
from webapp.store.sessions.filters import Filters, of_parameters
from webapp.store.tasks import TaskLine
from webapp.web import task_rows
from webapp.web.api.operation import FILTERS, json, operation
from webapp.web.api.shapes import RUN, filled, record, ref
from webapp.web.links import own_path

blueprint = Blueprint("runs", __name__)


def queued(name: str, filters: Filters) -> TaskLine:
    """A run that the worker begins now, or once those before it are finished."""
    db.session.rollback()
    return task_rows.find(store.queue(db.engine, name, filters))


@blueprint.post("/profiles/<path:name>/runs")
def make(name: str) -> AnyResponse:
    queued(name, of_parameters(request.form.to_dict()))
    back = request.form.get("back")
    return redirect(own_path(back) if back else url_for("profiles.show", name=name, _anchor="runs"), 303)


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
    return jsonify(run=run_dict(task_rows.find(number, tasks.REPLAY)))


@blueprint.delete("/api/runs/<int:number>")
@operation("Profiles", "Cancel a run", {202: json(record(run=ref("Run")), "The run; what is already stored is kept")})
def cancel_api(number: int) -> tuple[Response, int]:
    return jsonify(run=run_dict(task_rows.cancelled(number, tasks.REPLAY))), 202


def run_dict(run: TaskLine) -> dict[str, Any]:
    """A replay as the API shows it; `progress` goes from 0 to 1, `counts` is null before the first piece."""
    return filled(
        RUN,
        run,
        profile=run.about["profile"],
        filters=run.about.get("filters", {}),
        progress=share(run),
        counts=run.progress.get("counts"),
        started_at=run.began_at,
        finished_at=run.ended_at,
    )


def share(run: TaskLine) -> float:
    """How much of it is done, from 0 to 1."""
    if run.state == "done":
        return 1.0
    return min(1.0, int(run.progress.get("finished", 0)) / max(1, int(run.progress.get("total", 0))))

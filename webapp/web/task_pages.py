"""Tasks of all kinds: the page, of each its state, progress and outcome in words; and imports as jobs."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, abort, current_app, jsonify, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.dumps.session_keys import OPTION
from webapp.extensions import db, wake
from webapp.parsing.words import called, counted
from webapp.store import tasks as store
from webapp.store.accounts.accounts import ADMIN, INGEST, LABEL, READ
from webapp.store.jobs import imports
from webapp.store.models import Task
from webapp.store.sessions import dumps as dump_store
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import cursor_number
from webapp.store.tasks import EXPORT, HOMES, IMPORT, KINDS, PRUNE, REPLAY
from webapp.web import identity
from webapp.web.answers import part_or_way
from webapp.web.api.operation import json, operation
from webapp.web.api.shapes import filled
from webapp.web.dumps import dump_rows
from webapp.web.dumps.dump_rows import LOOKED_AT, NEXT, PHASES, TASK_STATES

blueprint = Blueprint("tasks", __name__)

CANCELS = {IMPORT: INGEST, EXPORT: LABEL, REPLAY: LABEL, HOMES: ADMIN}
"""the right that is asked for of who cancels a task of each kind; a prune is its command's"""
UNITS = {IMPORT: "byte", EXPORT: "session", REPLAY: "response", HOMES: "session", PRUNE: "session"}
_VERDICTS = ("clean", "extracted", "repaired", "failed", "none")


@blueprint.app_template_global()
def task_phase(task: Task) -> str:
    return PHASES.get(task.progress.get("phase", ""), "running") if task.state == "running" else "waiting"


@blueprint.app_context_processor
def give_tables() -> dict[str, Any]:
    tables = {"TASK_STATES": TASK_STATES, "TASK_CANCELS": CANCELS, "TASK_UNITS": UNITS, "NEXT_STEPS": NEXT}
    return tables | {"LOOKED_AT": LOOKED_AT}


@blueprint.app_template_global()
def task_words(task: Task) -> str:
    """What it is about."""
    about = task.about
    if task.kind == IMPORT:
        return str(about["filename"])
    if task.kind == EXPORT:
        words = sessions.words_of(about)
        return f"{words[0].upper()}{words[1:]}"
    if task.kind == PRUNE:
        return f"Sessions without a new turn since {about['before'][:10]}"
    if task.kind == HOMES:
        undoes = "Undone: " if about["undoes"] else ""
        return f"{undoes}{called(about['profile'])} for {sessions.words_of(about['scope'])}"
    over = "one session" if "session_id" in about else sessions.words_of(about)
    return f"{called(about['profile'])} over {over}"


@blueprint.app_template_global()
def task_share(task: Task) -> tuple[int, int]:
    """How much is through its phase, of how much; 0 where that is unknown."""
    progress = task.progress
    if task.kind == IMPORT:
        return min(progress.get("read", 0), progress.get("bytes", 0)), progress.get("bytes", 0)
    if task.kind == EXPORT:
        return progress.get("sessions", 0), progress.get("chosen") or 0
    return progress.get("finished", 0), progress.get("total", task.about.get("total", 0))


@blueprint.app_template_global()
def task_outcome(task: Task) -> str:
    """What came of it so far, in words; "" where there is nothing to say."""
    result: dict[str, Any] = task.result or {}
    if counts := task.progress.get("counts"):
        verdicts = (f"{counts[name]:,} {'no JSON found' if name == 'none' else name}" for name in _VERDICTS)
        return f"{counted(counts['responses'], 'response')}: {', '.join(verdicts)}"
    if task.kind == IMPORT and "turns" in result:
        words = f"{counted(result['sessions'], 'session')}, {counted(result['turns'], 'new turn')}"
        return words + (f", {counted(result['problems'], 'problem')}" if result["problems"] else "")
    if task.kind == EXPORT and "sessions" in result:
        return counted(result["sessions"], "session")
    if task.kind == PRUNE and "sessions" in result:
        return f"{counted(result['sessions'], 'session')} removed"
    if task.kind == HOMES and not task.live:
        undone = ", undone" if task.about["undone"] else ""
        return f"{task.progress.get('finished', 0):,} of {counted(task.about['total'], 'session')}{undone}"
    return ""


@blueprint.app_template_global()
def task_url(task: Task) -> str | None:
    """The page of what it makes, or made."""
    if task.kind == EXPORT:
        return url_for("export_jobs.show", number=task.id)
    if task.kind == IMPORT:
        dump = task.dump_id
        return url_for("dumps.index") if dump is None else url_for("dumps.show", ident=dump)
    if task.kind == HOMES:
        return url_for("homes.index")
    return url_for("profiles.show", name=task.about["profile"]) if task.kind == REPLAY else None


ROWS_A_PAGE = 50
NAMES = {IMPORT: "Imports", EXPORT: "Exports", REPLAY: "Replays", HOMES: "Parser changes", "prune": "Prunes"}


def page(after: str | None, limit: int, *kinds: str) -> tuple[list[Task], str | None]:
    """Tasks behind a cursor, and the next one; whoever looks at live ones sees to it that there is a worker."""
    lines = store.page(db.session.connection(), *kinds, after=cursor_number(after), limit=limit + 1)
    if any(line.live for line in lines):
        wake()
    return lines[:limit], str(lines[limit - 1].id) if len(lines) > limit else None


@blueprint.get("/tasks")
def index() -> str:
    kind = request.args.get("kind") or None
    if kind not in (None, *KINDS):
        abort(400, f"There is no kind of tasks called {kind[:40]!r}: it is {', '.join(KINDS)}.")
    lines, older = page(request.args.get("after"), ROWS_A_PAGE, *([kind] if kind else []))
    days = current_app.config["SETTINGS"].export_days
    return render_template("tasks/index.html", tasks=lines, older=older, kind=kind, names=NAMES, days=days)


@blueprint.get("/tasks/<int:number>")
def show(number: int) -> str | AnyResponse:
    """The task's row for htmx; everybody else goes to the page where it stands."""
    return _answer(find(number))


def find(number: int, kind: str | None = None) -> Task:
    """The task; whoever asks after one that is live sees to it that there is a worker. Raises `NoSuchTask`."""
    task = store.find(db.session.connection(), number, kind)
    if task.live:
        wake()
    return task


def cancelled(number: int, kind: str | None = None) -> Task:
    """The task, stopped where it still can be; what is stored stays. Raises `NoSuchTask`."""
    task = find(number, kind)
    db.session.rollback()
    if task.kind == IMPORT:
        imports.cancel(db.engine, current_app.config["SETTINGS"], task)
    else:
        store.cancel(db.engine, number)
    return find(number)


def _answer(task: Task) -> str | AnyResponse:
    """On the page of tasks, or with `row=dump` on that of dumps: as its dump's own row, once that is there for good."""
    if task.kind != IMPORT or request.args.get("row") != "dump":
        return part_or_way("tasks/_row.html", url_for("tasks.index", _anchor=f"task-{task.id}"), task=task)
    if task.live or task.dump_id is None:
        return part_or_way("dumps/_row.html", url_for("dumps.index"), row=dump_rows.of_job(task))
    created = (task.result or {}).get("created", True)
    row = dump_rows.of_dump(dump_store.find(db.session, task.dump_id), created=created)
    return part_or_way("dumps/_row.html", url_for("dumps.show", ident=task.dump_id), row=row)


@blueprint.post("/tasks/<int:number>/cancel")
def cancel(number: int) -> str | AnyResponse:
    """For whoever has the right that the task's kind asks for."""
    kind = find(number).kind
    if kind not in CANCELS:
        abort(409, "A prune is stopped where its command runs.")
    who = identity.current()
    if who is not None:
        identity.demand(who, (CANCELS[kind], READ))
    return _answer(cancelled(number))


jobs_blueprint = Blueprint("jobs", __name__)


@jobs_blueprint.post("/dumps/jobs/<int:number>/sessions")
def choose_key(number: int) -> str | AnyResponse:
    """Let a held job be read with the session key that was chosen: `other`, typed, before `key`."""
    find(number, IMPORT)
    db.session.rollback()
    key = request.form.get("other", "").strip() or request.form.get("key", "").strip()
    imports.release(db.engine, number, {OPTION: key} if key else None)
    return _answer(find(number, IMPORT))


@jobs_blueprint.get("/api/jobs/<int:number>")
@operation("Dumps", "Read how far a job is", json("job", "The job"))
def show_api(number: int) -> Response:
    return jsonify(job=job_dict(find(number, IMPORT)))


@jobs_blueprint.delete("/api/jobs/<int:number>")
@operation("Dumps", "Ask a job to stop", {202: json("job", "The job; what is already stored is kept")})
def cancel_api(number: int) -> tuple[Response, int]:
    return jsonify(job=job_dict(cancelled(number, IMPORT))), 202


def job_dict(job: Task) -> dict[str, Any]:
    """A job as the API shows it; `progress` counts bytes of its phase, and what was found so far."""
    return filled("Job", job, cancelled=job.state == "cancelled")

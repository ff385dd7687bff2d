"""The page of tasks: imports, replays, changes of parsers, exports and prunes, followed and cancelled."""

from __future__ import annotations

from flask import Blueprint, abort, current_app, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store import tasks as store
from webapp.store.homes import changes
from webapp.store.jobs import export_jobs, imports, replays
from webapp.store.sessions.sessions import BadCursor
from webapp.store.tasks import EXPORT, HOMES, IMPORT, KINDS, REPLAY, TaskLine
from webapp.web import access, identity, task_rows
from webapp.web.dumps import worker_process
from webapp.web.render import wants_partial

blueprint = Blueprint("tasks", __name__)

ROWS_A_PAGE = 50
NAMES = {IMPORT: "Imports", EXPORT: "Exports", REPLAY: "Replays", HOMES: "Parser changes", "prune": "Prunes"}


def page(after: str | None, limit: int, *kinds: str) -> tuple[list[TaskLine], str | None]:
    """Tasks behind a cursor, and the next one; whoever looks at live ones sees to it that there is a worker."""
    if after and not (after.isascii() and after.isdecimal() and len(after) < 19):
        raise BadCursor("after is not what an earlier page gave as next")
    lines = store.page(db.session.connection(), *kinds, after=int(after) if after else None, limit=limit + 1)
    if any(line.live for line in lines):
        worker_process.wake()
    return lines[:limit], str(lines[limit - 1].id) if len(lines) > limit else None


@blueprint.get("/tasks")
def index() -> str:
    kind = request.args.get("kind") or None
    if kind not in (None, *KINDS):
        abort(400, f"There is no kind of tasks called {kind[:40]!r}: it is {', '.join(KINDS)}.")
    lines, older = page(request.args.get("after"), ROWS_A_PAGE, *([kind] if kind else []))
    days = current_app.config["SETTINGS"].export_days
    rows = [task_rows.of_task(line) for line in lines]
    return render_template("tasks/index.html", rows=rows, older=older, kind=kind, names=NAMES, days=days)


@blueprint.get("/tasks/<int:number>")
def show(number: int) -> str | AnyResponse:
    """The task's row for htmx; everybody else goes to the page of what it makes."""
    return _answer(_find(number))


def _find(number: int) -> TaskLine:
    task = store.find(db.session.connection(), number)
    if task.live:
        worker_process.wake()
    return task


def _answer(task: TaskLine) -> str | AnyResponse:
    if not wants_partial():
        return redirect(url_for("tasks.index", _anchor=f"task-{task.id}"), 303)
    return render_template("tasks/_row.html", row=task_rows.of_task(task))


@blueprint.post("/tasks/<int:number>/cancel")
def cancel(number: int) -> str | AnyResponse:
    """Stop a task where it still can be; what is stored stays."""
    task = _find(number)
    if task.kind not in task_rows.CANCELS:
        abort(409, "A prune is stopped where its command runs.")
    who = identity.current()
    if who is not None and (lacks := access.lacking(task_rows.CANCELS[task.kind][0], who.rights)) is not None:
        abort(403, access.refusal(lacks, None if who.is_program else who.name))
    db.session.rollback()
    if task.kind == IMPORT:
        imports.cancel(db.engine, current_app.config["SETTINGS"], task)
    else:
        {EXPORT: export_jobs.cancel, REPLAY: replays.cancel, HOMES: changes.cancel}[task.kind](db.engine, number)
    return _answer(_find(number))

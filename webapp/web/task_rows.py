"""Rows of the page of tasks: what each is, how far it is, what came of it, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import url_for
from werkzeug.routing import BuildError

from webapp.parsing.words import counted
from webapp.store.accounts.roles import ADMIN, INGEST, LABEL
from webapp.store.homes import scopes
from webapp.store.jobs.imports import dump_of
from webapp.store.tasks import EXPORT, HOMES, IMPORT, PRUNE, REPLAY, TaskLine
from webapp.web import export_views
from webapp.web.dumps.dump_rows import NEXT, PHASES

STATES = {
    "held": ("which sessions?", "edit"),
    "queued": ("waiting", ""),
    "running": ("running", "edit"),
    "done": ("done", "took"),
    "failed": ("failed", "bad"),
    "cancelled": ("cancelled", "drop"),
    "interrupted": ("interrupted", "drop"),
    "removed": ("removed", "drop"),
}
CANCELS = {
    IMPORT: ("jobs.cancel", INGEST),
    EXPORT: ("export_jobs.cancel", LABEL),
    REPLAY: ("runs.cancel", LABEL),
    HOMES: ("homes.cancel", ADMIN),
}
"""the route of each kind that cancels it, whose right is asked for, and that right; a prune is its command's"""
_UNITS = {IMPORT: "byte", EXPORT: "session", REPLAY: "response", HOMES: "session", PRUNE: "session"}
_VERDICTS = ("clean", "extracted", "repaired", "failed", "none")


@dataclass(frozen=True, slots=True)
class TaskRow:
    """What `tasks/_row.html` draws. `finished` of `total` (0 where it is unknown) are through its `phase`."""

    id: int
    kind: str
    state: str
    live: bool
    words: str
    url: str | None
    phase: str
    finished: int
    total: int
    outcome: str
    error: str | None
    next: str | None
    when: datetime
    file: str | None
    undo: str | None

    @property
    def tag(self) -> tuple[str, str]:
        return STATES[self.state]

    @property
    def cancel_right(self) -> str | None:
        """The right that cancelling it asks for; None where nobody can here."""
        return CANCELS[self.kind][1] if self.kind in CANCELS and (self.live or self.state == "held") else None

    @property
    def unit(self) -> str:
        return _UNITS[self.kind]


def of_task(task: TaskLine) -> TaskRow:
    error = (task.result or {}).get("error") or {}
    finished, total = _share(task)
    is_undoable = task.kind == HOMES and not (task.about["undone"] or task.about["undoes"])
    return TaskRow(
        id=task.id,
        kind=task.kind,
        state=task.state,
        live=task.live,
        words=_words(task),
        url=_url(task),
        phase=PHASES.get(task.progress.get("phase", ""), "running") if task.state == "running" else "waiting",
        finished=finished,
        total=total,
        outcome=_outcome(task),
        error=error.get("message"),
        next=NEXT.get(error.get("code") or ""),
        when=task.made_at,
        file=url_for("export_jobs.file", number=task.id) if task.kind == EXPORT and task.state == "done" else None,
        undo=url_for("homes.undo", number=task.id) if is_undoable else None,
    )


def _words(task: TaskLine) -> str:
    about = task.about
    if task.kind == IMPORT:
        return str(about["filename"])
    if task.kind == EXPORT:
        return export_views.words_of(about)
    if task.kind == PRUNE:
        return f"Sessions without a new turn since {about['before'][:10]}"
    if task.kind == HOMES:
        undoes = "Undone: " if about["undoes"] else ""
        return f"{undoes}{about['profile']} for {scopes.scope_words(about['scope'])}"
    filters = ", ".join(f"{name}: {value}" for name, value in about.get("filters", {}).items())
    over = "one session" if "session_id" in about else filters or "everything"
    return f"{about['profile']} over {over}"


def _share(task: TaskLine) -> tuple[int, int]:
    progress = task.progress
    if task.kind == IMPORT:
        return min(progress.get("read", 0), progress.get("bytes", 0)), progress.get("bytes", 0)
    if task.kind == EXPORT:
        return progress.get("sessions", 0), progress.get("chosen") or 0
    return progress.get("finished", 0), progress.get("total", task.about.get("total", 0))


def _outcome(task: TaskLine) -> str:
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


def _url(task: TaskLine) -> str | None:
    """The page of what it makes, or made."""
    if task.kind == EXPORT:
        return url_for("export_jobs.show", number=task.id)
    if task.kind == IMPORT:
        dump = dump_of(task)
        return url_for("dumps.index") if dump is None else url_for("dumps.show", ident=dump)
    if task.kind == HOMES:
        return url_for("homes.index")
    try:
        return url_for("profiles.show", name=task.about["profile"]) if task.kind == REPLAY else None
    except BuildError:
        return None

"""An export as pages and the API show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import url_for

from webapp.parsing.words import counted
from webapp.store.jobs.export_jobs import REMOVED
from webapp.store.tasks import TaskLine

STATES = {
    "queued": ("waiting", ""),
    "running": ("exporting", "edit"),
    "done": ("done", "took"),
    "failed": ("failed", "bad"),
    "cancelled": ("cancelled", "drop"),
    REMOVED: ("removed", "drop"),
}
_SWITCHES = {"failed": "failed responses", "rescued": "failed responses that Fencepost can read"}
_NOTHING: dict[str, Any] = {"count": 0, "sessions": []}


@dataclass(frozen=True, slots=True)
class ExportView:
    """One export. `written` of `chosen` sessions are in it, and `size` bytes; `chosen` is None before it began.

    `deleted` and `changed` are sessions to which that happened before they were written: how many, and the first.
    """

    number: int
    state: str
    words: str
    live: bool
    written: int
    chosen: int | None
    size: int
    asked_at: datetime
    sha256: str | None
    removes_at: datetime | None
    error: str | None
    deleted: dict[str, Any]
    changed: dict[str, Any]

    @property
    def ident(self) -> str:
        return f"export-{self.number}"

    @property
    def name(self) -> str:
        return f"sessions-{self.number}.zip"

    @property
    def tag(self) -> tuple[str, str]:
        return STATES[self.state]

    @property
    def phase(self) -> str:
        if self.state == "queued":
            return "waiting"
        return "exporting" if self.chosen is not None else "choosing sessions"


def words_of(selection: dict[str, Any]) -> str:
    """`Sessions with failed responses, model m`."""
    if "keys" in selection:
        return counted(len(selection["keys"]), "selected session")
    parts = [_SWITCHES.get(name, f"{name} {value}") for name, value in selection.get("filters", {}).items()]
    return f"Sessions with {', '.join(parts)}" if parts else "All sessions"


def view(task: TaskLine) -> ExportView:
    result, progress = task.result or {}, task.progress
    expires_at = result.get("expires_at")
    return ExportView(
        number=task.id,
        state=task.state,
        words=words_of(task.about),
        live=task.live,
        written=result.get("sessions", progress.get("sessions", 0)),
        chosen=progress.get("chosen"),
        size=result.get("bytes", progress.get("read", 0)),
        asked_at=task.made_at,
        sha256=result.get("sha256"),
        removes_at=datetime.fromisoformat(expires_at) if expires_at else None,
        error=(result.get("error") or {}).get("message"),
        deleted=result.get("deleted", _NOTHING),
        changed=result.get("changed", _NOTHING),
    )


def as_dict(task: TaskLine) -> dict[str, Any]:
    export, result = view(task), task.result or {}
    selection = task.about
    return {
        **{name: getattr(export, name) for name in ("state", "sha256", "deleted", "changed")},
        "id": task.id,
        "cancelled": task.state == "cancelled",
        "ids": selection.get("keys"),
        "filters": selection.get("filters"),
        "sessions": export.written,
        "of": export.chosen,
        "bytes": export.size,
        "error": result.get("error"),
        "url": url_for("export_jobs.show_api", number=task.id),
        "file": url_for("export_jobs.file_api", number=task.id) if task.state == "done" else None,
        "made_at": task.made_at.isoformat(),
        "ended_at": task.ended_at and task.ended_at.isoformat(),
        "expires_at": result.get("expires_at"),
    }

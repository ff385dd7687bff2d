"""Rows of the list of dumps: a dump, a job on its way, and a file that was refused look alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from webapp.parsing.words import called, counted
from webapp.store.models import Dump, Task
from webapp.store.tasks import HELD

TASK_STATES = {
    "held": ("which sessions?", "edit"),
    "queued": ("waiting", ""),
    "running": ("running", "edit"),
    "done": ("done", "took"),
    "failed": ("failed", "bad"),
    "cancelled": ("cancelled", "drop"),
    "interrupted": ("interrupted", "drop"),
    "removed": ("removed", "drop"),
}
_STATES = TASK_STATES | {
    "done": ("", ""),
    **dict.fromkeys(("running", "reading"), ("reading", "edit")),
    "failed": ("could not be read", "bad"),
    "answers_missing": ("answers missing", "edit"),
}
PHASES = {
    "receiving": "waiting",
    "unpacking": "unpacking",
    "keeping": "saving a copy",
    "looking": "scanning",
    "storing": "reading",
}
NEXT = {
    "too_large": "Raise FENCEPOST_MAX_DUMP, or split the file.",
    "unknown_format": "Name its format with fencepost ingest --format, if it has one.",
    "bad_dump": "Fix the file at that place, or send another copy.",
}
_SHORT = 400
_MOST_PROBLEMS = 50
LOOKED_AT = 16 * 1024 * 1024
"""bytes of a file in which the keys of its sessions are counted"""


@dataclass(frozen=True, slots=True)
class RefusedUpload:
    """A file that could not be read, with the API's status and error; `dump` is the number of what was kept of it."""

    filename: str
    status: int
    error: dict[str, Any]
    dump: int | None = None


@dataclass(frozen=True, slots=True)
class DumpRow:
    """What `dumps/_row.html` draws: `job`, or the `dump` of this number, once it has one.

    `outcome` is a sentence about what came of it just now.
    """

    ident: str
    filename: str
    state: str
    size: int
    when: datetime | None = None
    format: str | None = None
    sessions: int = 0
    turns: int = 0
    job: Task | None = None
    dump: int | None = None
    outcome: str | None = None
    code: str | None = None
    error: str | None = None
    advice: str | None = None
    """what the refusal says to do, where it says more than what can be read"""
    at: str | None = None
    problems: list[dict[str, str]] = field(default_factory=list)
    problem_count: int = 0
    links: Sequence[Any] = ()

    @property
    def keys(self) -> dict[str, Any] | None:
        """What may name the sessions of a held job, as `webapp.dumps.session_keys.SessionKeys`."""
        return (self.job.result or {}).get("keys") if self.job and self.job.state == HELD else None

    @property
    def tag(self) -> tuple[str, str]:
        return _STATES["cancelled"] if self.code == "cancelled" else _STATES.get(self.state, ("", ""))

    @property
    def next(self) -> str | None:
        """What to do about the error."""
        if self.mappable and not (self.advice or "").startswith("This looks like"):
            return "Make a mapping that names its fields."
        return self.advice or NEXT.get(self.code or "")

    @property
    def mappable(self) -> bool:
        """Whether a mapping may help: the dump is kept, and it is JSON that no format knows."""
        return self.dump is not None and self.code == "unknown_format" and "not JSON" not in (self.error or "")


def of_dump(dump: Dump, *, created: bool = True, changed: int = 0) -> DumpRow:
    """`created` is False where it, or everything in it, was here before; `changed` sessions have another parser now."""
    outcome = f"{counted(changed, 'session')} now read by {called(dump.home or '')}" if changed else "nothing changed"
    return DumpRow(
        f"dump-{dump.id}",
        dump.filename,
        "answers_missing" if dump.answers_missing and dump.state == "done" else dump.state,
        dump.bytes,
        dump.received_at,
        dump.format,
        dump.session_count,
        dump.turn_count,
        dump=dump.id,
        outcome=None if created else f"Already imported; {outcome}.",
        problems=dump.problems[:_MOST_PROBLEMS],
        problem_count=dump.problem_count,
        links=dump.sessions,
        **_error(dump.error),
    )


def of_job(job: Task) -> DumpRow:
    progress = job.progress
    return DumpRow(
        f"job-{job.id}",
        job.about["filename"],
        job.state,
        job.about["bytes"],
        job.made_at,
        progress.get("format") or job.about["format"],
        progress.get("sessions", 0),
        progress.get("turns", 0),
        job=job,
        dump=job.dump_id,
        problem_count=progress.get("problems", 0),
        **_error((job.result or {}).get("error")),
    )


def of_refused(refused: RefusedUpload, dump: Dump | None) -> DumpRow:
    """`dump` is what was kept of it, where something was."""
    if dump is not None and dump.error is not None:
        return of_dump(dump)
    ident = f"refused-{abs(hash((refused.filename, refused.error['message'])))}"
    return DumpRow(ident, refused.filename, "failed", 0, **_error(refused.error))


def _error(error: dict[str, Any] | None) -> dict[str, Any]:
    if error is None:
        return {}
    message, *others = str(error.get("message") or "").split("\n")
    advice = " ".join(line for line in others if not line.startswith("What "))[:_SHORT] or None
    return {"code": error.get("code"), "error": message[:_SHORT], "advice": advice, "at": error.get("at")}

"""Rows of the list of dumps: a dump, a job on its way, and a file that was refused look alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from webapp.store.dumps import DumpLine, Link
from webapp.store.ingest import Ingested
from webapp.store.jobs import JobLine
from webapp.web.taking import Refused

STATES = {
    "queued": ("waiting", ""),
    "running": ("reading", "edit"),
    "reading": ("reading", "edit"),
    "failed": ("could not be read", "bad"),
    "cancelled": ("cancelled", "drop"),
}
PHASES = {
    "receiving": "next in line",
    "unpacking": "unpacking",
    "keeping": "keeping a copy",
    "looking": "looking through it",
    "storing": "reading",
}
NEXT = {
    "too_large": "Raise FENCEPOST_MAX_DUMP, or split the file.",
    "unknown_format": "Name its format with fencepost ingest --format, if it has one.",
    "bad_dump": "Mend the file at that place, or send another copy of it.",
    "no_file": "Choose a file first.",
}
_SHORT = 400


@dataclass(frozen=True, slots=True)
class Row:
    """What `dumps/_row.html` draws. `job` is the number of a live job, `dump` the dump's once it has one.

    `read` of `total` bytes are through the `phase`; `said` is a sentence about what came of it just now.
    """

    ident: str
    filename: str
    state: str
    size: int
    when: datetime | None = None
    format: str | None = None
    sessions: int = 0
    turns: int = 0
    job: int | None = None
    asked: bool = False
    phase: str = ""
    read: int = 0
    total: int = 0
    dump: int | None = None
    said: str | None = None
    code: str | None = None
    error: str | None = None
    at: str | None = None
    problems: list[dict[str, str]] = field(default_factory=list)
    problem_count: int = 0
    links: list[Link] = field(default_factory=list)

    @property
    def tag(self) -> tuple[str, str]:
        return STATES["cancelled"] if self.code == "cancelled" else STATES.get(self.state, ("", ""))

    @property
    def next(self) -> str | None:
        """What to do about the error."""
        return "Say where its fields are by a mapping." if self.mappable else NEXT.get(self.code or "")

    @property
    def mappable(self) -> bool:
        """Whether a mapping may help: the dump is kept, and it is JSON that no format knows."""
        return self.dump is not None and self.code == "unknown_format" and "not JSON" not in (self.error or "")


def of_dump(dump: DumpLine, said: str | None = None) -> Row:
    return Row(
        f"dump-{dump.id}",
        dump.filename,
        dump.state,
        dump.bytes,
        dump.received_at,
        dump.format,
        dump.session_count,
        dump.turn_count,
        dump=dump.id,
        said=said,
        problems=dump.problems,
        problem_count=dump.problem_count,
        links=dump.sessions,
        **_error(dump.error),
    )


def of_job(job: JobLine) -> Row:
    told = job.progress
    live = job.live
    return Row(
        f"job-{job.id}",
        job.filename,
        job.state,
        job.bytes,
        job.made_at,
        told.get("format") or job.format,
        told.get("sessions", 0),
        told.get("turns", 0),
        job=job.id if live else None,
        asked=job.asked and live,
        phase=PHASES[told.get("phase", "receiving")],
        read=min(told.get("read", 0), told.get("bytes", 0)),
        total=told.get("bytes", 0),
        dump=job.dump_id,
        problem_count=told.get("problems", 0),
        **_error((job.result or {}).get("error")),
    )


def of_refused(refused: Refused, dump: DumpLine | None) -> Row:
    """`dump` is what was kept of it, where something was."""
    if dump is not None and dump.error is not None:
        return of_dump(dump)
    return Row(f"refused-{abs(hash(refused))}", refused.filename, "failed", 0, **_error(refused.as_dict()))


def of_ingested(result: Ingested) -> Row:
    return of_dump(result.dump, None if result.created else "This is already here: nothing changed.")


def _error(error: dict[str, Any] | None) -> dict[str, Any]:
    if error is None:
        return {}
    message = str(error.get("message") or "").partition(" Known are: ")[0]
    return {"code": error.get("code"), "error": message[:_SHORT], "at": error.get("at")}

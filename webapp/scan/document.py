"""What a scan found, as one document: the shape of `--json`, which the other reports are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webapp.parsing import parse
from webapp.scan.checks import CHECKS
from webapp.scan.files import Found
from webapp.scan.locating import locate
from webapp.scan.scanning import ScannedFile, ScannedSession

SEVERITIES = ("low", "medium", "high")


@dataclass(slots=True)
class Scan:
    """All that was scanned, worst session first; `complete` is False where somebody stopped it."""

    found: Found
    files: list[ScannedFile]
    complete: bool = True

    @property
    def sessions(self) -> list[ScannedSession]:
        return sorted((session for file in self.files for session in file.sessions), key=lambda session: session.order)

    def breaks(self, severity: str) -> bool:
        """Whether something is broken at or above a severity."""
        least = SEVERITIES.index(severity)
        return any(session.broken and SEVERITIES.index(session.severity) >= least for session in self.sessions)


def document(scan: Scan) -> dict[str, Any]:
    """`{"checks", "sessions", "looked"}`: see docs/scan.md."""
    sessions = scan.sessions
    return {
        "checks": [_check(name, sessions) for name in CHECKS],
        "sessions": [session_document(session) for session in sessions],
        "looked": looked(scan),
    }


def _check(name: str, sessions: Sequence[ScannedSession]) -> dict[str, Any]:
    states = Counter(session.checks[name].state for session in sessions)
    whys = Counter(session.checks[name].why for session in sessions if session.checks[name].why)
    return {
        "name": name,
        "words": CHECKS[name].words,
        "kept": states["kept"],
        "broken": states["broken"],
        "unknown": states["unknown"],
        "why": [{"reason": why, "sessions": count} for why, count in whys.most_common()],
    }


def session_document(session: ScannedSession) -> dict[str, Any]:
    """One session; `worst` names its turn, and the line and column of the log where that stands, if found."""
    worst = session.worst
    place = worst and worst.raw and locate(Path(session.file), worst.raw, fault_at(worst.raw))
    return {
        "id": session.id,
        "file": session.file,
        "format": session.format,
        "title": session.title,
        "parser": session.home,
        "responses": session.responses,
        "severity": session.severity or None,
        "sentence": session.sentence,
        "checks": {
            name: {"state": result.state, "why": result.why or None, "turns": list(result.turns)}
            for name, result in session.checks.items()
        },
        "findings": list(session.findings),
        "worst": worst and {"turn": worst.position, "place": place._asdict() if place else None},
    }


def fault_at(raw: str) -> int:
    """The character at which `json.loads` stops; 0 where it reads the text or finds no JSON in it."""
    trace = parse(raw, "direct")
    error = trace.attempts[-1].error if trace.attempts else None
    return error.at if error is not None and raw.lstrip()[:1] in ("{", "[") else 0


def looked(scan: Scan) -> dict[str, Any]:
    """How much was looked at, and what was not read, each with its reason."""
    read = [file for file in scan.files if file.error is None]
    return {
        "complete": scan.complete,
        "files": len(read),
        "bytes": sum(file.file.bytes for file in read),
        "sessions": sum(len(file.sessions) for file in read),
        "responses": sum(file.responses for file in read),
        "older_files": scan.found.older,
        "older_sessions": sum(file.older for file in scan.files),
        "programs": scan.found.programs,
        "not_read": [{"file": path, "reason": reason} for path, reason in scan.found.not_read]
        + [{"file": file.file.path, "reason": file.error} for file in scan.files if file.error is not None],
        "problems": [
            {"file": file.file.path, "count": file.problem_count, "first": file.problems}
            for file in scan.files
            if file.problem_count
        ],
    }

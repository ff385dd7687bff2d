"""One file becomes its sessions with their checks: the same readers, fold and findings as an ingest of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webapp.dumps import reading
from webapp.dumps.budget import BadDump
from webapp.dumps.records import Problem, Record, SessionStart, Turn, UnknownFormat
from webapp.dumps.spool import LONGEST_MARK, packed_as, spool
from webapp.dumps.sqlite_tables import merged
from webapp.findings.rule import RuleFinding, code
from webapp.findings.rulebook import reason, sentence
from webapp.parsing.words import counted
from webapp.scan.checks import CheckResult, Evidence, results
from webapp.scan.files import LogFile
from webapp.store.write.session_state import SessionParser, SessionState, is_known
from webapp.store.write.tally import PlacedTurn

UNKNOWN = "unknown"
MOST_PROBLEMS = 5
_MOST_UNPACKED = 4 * 1024**3
_WEIGHT = {"high": 0, "medium": 1, "low": 2}


@dataclass(frozen=True, slots=True)
class WorstTurn:
    """The turn to look at first: its position in the session, and its text."""

    position: int
    raw: str


@dataclass(frozen=True, slots=True)
class ScannedSession:
    """A session with its checks and findings, `sentence` in the words of its page."""

    id: str
    file: str
    format: str
    title: str | None
    parser: str
    responses: int
    ended_at: float | None
    checks: dict[str, CheckResult]
    findings: tuple[dict[str, Any], ...]
    sentence: str
    worst: WorstTurn | None

    @property
    def broken(self) -> list[str]:
        """The names of the checks that are broken."""
        return [name for name, result in self.checks.items() if result.state == "broken"]

    @property
    def severity(self) -> str:
        """Of the weightiest finding, "high" for a response that was not read; "" where nothing is broken."""
        if not self.broken:
            return ""
        if self.checks["json_read"].turns:
            return "high"
        return min((finding["severity"] for finding in self.findings), key=_WEIGHT.__getitem__, default="medium")

    @property
    def order(self) -> tuple[Any, ...]:
        """Worst first: more broken checks of greater weight, then the newer one."""
        return _WEIGHT.get(self.severity, 3), -len(self.broken), -(self.ended_at or 0.0), self.file, self.id


@dataclass(slots=True)
class ScannedFile:
    """What a file held; `error` says why nothing of it was read."""

    file: LogFile
    sessions: list[ScannedSession] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    error: str | None = None
    older: int = 0
    """sessions that ended before the time asked for"""

    @property
    def responses(self) -> int:
        return sum(session.responses for session in self.sessions)


def scan_file(file: LogFile, since: float | None, home: str | None = None) -> ScannedFile:
    """Read a file whole; what cannot be read is said. `home` is the parser that somebody told."""
    scanned, session = ScannedFile(file), None
    try:
        for record in _records(Path(file.path), file.name):
            if isinstance(record, Problem):
                scanned.problem_count += 1
                if len(scanned.problems) < MOST_PROBLEMS:
                    scanned.problems.append(f"{record.at}: {record.reason}")
            elif isinstance(record, SessionStart):
                _keep(scanned, session, since)
                session = OpenSession(record, home or record.home or UNKNOWN)
            elif session is not None:
                session.see(record)
    except (BadDump, UnknownFormat, OSError) as error:
        scanned.error = str(error)
    _keep(scanned, session, since)
    return scanned


def _records(path: Path, name: str) -> Iterator[Record]:
    """What stands in a log, unpacked where it is packed, and of a database with what its program wrote ahead."""
    with merged(path) as whole, whole.open("rb") as stream, tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
        if packed_as(stream.read(LONGEST_MARK)):
            stream.seek(0)
            spooled = spool(stream, Path(folder), max_bytes=_MOST_UNPACKED)
            if spooled.problem is not None:
                yield spooled.problem
            whole = spooled.path
        yield from reading.read(whole, name)


def _keep(scanned: ScannedFile, session: OpenSession | None, since: float | None) -> None:
    if session is None:
        return
    ended = session.state.tally.ended_at
    if since is not None and ended is not None and ended.timestamp() < since:
        scanned.older += 1
        return
    scanned.sessions.append(session.end(scanned.file.path))


class OpenSession:
    """A session while its turns come: the fold of ingest, what the checks ask for, and texts that may be shown."""

    MOST_TEXTS, LONGEST_TEXT = 2000, 100_000

    def __init__(self, start: SessionStart, home: str) -> None:
        self.start, self.home = start, home if is_known(home) else UNKNOWN
        self.state = SessionState(0, self.home, service=start.service)
        self.parser = SessionParser(self.home)
        self.evidence = Evidence(self.home != UNKNOWN)
        self.texts: dict[int, str] = {}
        self.answer: list[Turn] = []

    def see(self, turn: Turn) -> None:
        state = self.state
        place = state.tally.place(turn.entry, turn.kind, turn.raw is not None, turn.duplicate_of)
        new = turn.written_by_model and place.original is None
        traces = self.parser.traces(turn.raw or "") if new else ()
        answered = None if turn.answers is None else state.tally.answered(turn.answers)
        answers = None if answered is None else state.tally.positions[answered]
        state.see(PlacedTurn(*place, turn, traces, answers))
        for ordinal in ([place.ordinal] if turn.failure else []) + ([] if answered is None else [answered]):
            if state.fail(ordinal, turn.failure or turn.raw or ""):
                self.evidence.breaks(state.tally.positions[ordinal])
        if place.original is None:
            if self.answer and self.answer[0].entry != turn.entry:
                self.evidence.answered(self.answer)
                self.answer = []
            self.answer.append(turn)
            self.evidence.see(turn, place.position, traces)
            if new and len(self.texts) < self.MOST_TEXTS and len(turn.raw or "") < self.LONGEST_TEXT:
                self.texts[place.position] = turn.raw or ""

    def end(self, path: str) -> ScannedSession:
        """The session, once all its turns came."""
        self.evidence.answered(self.answer)
        self.state.settle()
        tally, findings = self.state.tally, self.state.findings
        for row in self.state.contracts:
            self.evidence.held(tally.positions[row["turn_id"]], row["state"])
        checks = results(self.evidence, findings)
        return ScannedSession(
            self.start.external_id,
            path,
            self.start.source_format,
            self.start.title,
            self.home,
            self.evidence.responses,
            tally.ended_at.timestamp() if tally.ended_at else None,
            checks,
            tuple(_as_dict(finding) for finding in findings),
            sentence(findings) or _failures_sentence(self.evidence),
            self._worst(checks, findings),
        )

    def _worst(self, checks: dict[str, CheckResult], findings: list[RuleFinding]) -> WorstTurn | None:
        """The first turn of the weightiest finding, or the first that was not read."""
        ordered = sorted(findings, key=lambda finding: _WEIGHT[finding.severity])
        positions = [*checks["json_read"].turns, *(position for finding in ordered for position in finding.turns)]
        positions += [position for result in checks.values() for position in result.turns]
        position_ = next((position for position in positions if position in self.texts), None)
        if position_ is not None:
            return WorstTurn(position_, self.texts[position_])
        return WorstTurn(positions[0], "") if positions else None


def _as_dict(finding: RuleFinding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "turns": list(finding.turns),
        "reason": reason(finding),
    }


def _failures_sentence(evidence: Evidence) -> str:
    failed = len(evidence.broken.get("invalid_json", ()))
    broken = sum(len(turns) for state, turns in evidence.broken.items() if state != "invalid_json")
    sentences = [f"{counted(failed, 'response')} could not be read"] if failed else []
    sentences += [f"{counted(broken, 'response')} broke what the request declares"] if broken else []
    sentences += [f"it ends in an error, without an answer: {code(evidence.error[1], 120)}"] if evidence.error else []
    return f"{'; '.join(sentences)}." if sentences else ""

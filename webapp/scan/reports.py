"""The document of a scan for other programs: SARIF 2.1.0, JUnit's XML, and one HTML page without a link to outside."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from webapp import __version__
from webapp.parsing import parse
from webapp.scan.checks import CHECKS
from webapp.scan.files import FoundLogs
from webapp.scan.scanning import ScannedFile, ScannedSession
from webapp.visible import visible

_LEVELS = {"high": "error", "medium": "warning", "low": "note"}


def sarif(document: dict[str, Any]) -> str:
    """A result for each broken check of a session, at the line and column of its worst turn.

    https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
    """
    rules = [{"id": name, "shortDescription": {"text": check.words}} for name, check in CHECKS.items()]
    driver = {"name": "Fencepost", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": list(_sarif_results(document))}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=1)


def _sarif_results(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for session in document["sessions"]:
        for name in _broken(session):
            place = (session["worst"] or {}).get("place")
            region = {"startLine": place["line"], "startColumn": place["column"]} if place else {"startLine": 1}
            yield {
                "ruleId": name,
                "level": _LEVELS.get(session["severity"], "warning"),
                "message": {"text": visible(_message(session, name))},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": Path(session["file"]).as_posix()},
                            "region": region,
                        }
                    }
                ],
            }


def _broken(session: dict[str, Any]) -> list[str]:
    return [name for name, result in session["checks"].items() if result["state"] == "broken"]


def _message(session: dict[str, Any], name: str) -> str:
    turns = ", ".join(map(str, session["checks"][name]["turns"][:5]))
    return f"{CHECKS[name].words}: broken in session {session['id']}, turns {turns}. {session['sentence']}"


def junit(document: dict[str, Any]) -> str:
    """A suite for each check with a case for each session; what is not knowable is skipped, with its reason."""
    suites = ET.Element("testsuites", name="fencepost scan")
    for check in document["checks"]:
        name, sessions = check["name"], document["sessions"]
        counts = {"tests": len(sessions), "failures": check["broken"], "skipped": check["unknown"]}
        suite = ET.SubElement(suites, "testsuite", {"name": name} | {key: str(n) for key, n in counts.items()})
        for session in sessions:
            result = session["checks"][name]
            names = {"name": visible(session["id"]), "classname": visible(session["file"])}
            case = ET.SubElement(suite, "testcase", names)
            if result["state"] == "broken":
                ET.SubElement(case, "failure", message=visible(_message(session, name)))
            elif result["state"] == "unknown":
                ET.SubElement(case, "skipped", message=visible(result["why"] or ""))
    return ET.tostring(suites, encoding="unicode", xml_declaration=True)


_STYLE = """body{font:16px/1.5 system-ui;margin:2rem auto;max-width:70rem;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #8884}
td.n{text-align:right;font-variant-numeric:tabular-nums}
pre{white-space:pre-wrap;border-left:3px solid #c33;padding-left:1rem}"""


def page(document: dict[str, Any], excerpts: dict[str, str]) -> str:
    """One page to keep or send: nothing in it is loaded from anywhere. `excerpts` are those of sessions by id."""
    rows = "".join(
        f"<tr><th>{_text(check['words'])}</th>"
        + "".join(f'<td class="n">{check[state]}</td>' for state in ("kept", "broken", "unknown"))
        + "</tr>"
        for check in document["checks"]
    )
    sessions = "".join(_section(session, excerpts) for session in document["sessions"] if _broken(session))
    looked = document["looked"]
    head = f"{looked['responses']:,} responses in {looked['sessions']:,} sessions of {looked['files']:,} files"
    table = f"<table><tr><th>Check</th><th>kept</th><th>broken</th><th>not knowable</th></tr>{rows}</table>"
    nothing = "<p>No check is broken in what was looked at.</p>"
    policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">{policy}<title>fencepost scan</title>'
        f"<style>{_STYLE}</style><h1>fencepost scan</h1><p>{head}.</p>{table}{sessions or nothing}</html>"
    )


def _section(session: dict[str, Any], excerpts: dict[str, str]) -> str:
    broken = ", ".join(CHECKS[name].words for name in _broken(session))
    excerpt = excerpts.get(session["id"], "")
    return (
        f"<h2>{_text(session['title'] or session['id'])}</h2><p>{_text(session['sentence'])}</p>"
        f"<p>Broken: {_text(broken)}. {_text(session['file'])}</p>"
        + (f"<pre>{_text(excerpt)}</pre>" if excerpt else "")
    )


def _text(text: str) -> str:
    return html.escape(visible(text))


SEVERITIES = ("low", "medium", "high")


@dataclass(slots=True)
class Scan:
    """All that was scanned, worst session first; `complete` is False where somebody stopped it."""

    found: FoundLogs
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
    files = [file for file in scan.files if file.error is None]
    return {
        "complete": scan.complete,
        "files": len(files),
        "bytes": sum(file.file.bytes for file in files),
        "sessions": sum(len(file.sessions) for file in files),
        "responses": sum(file.responses for file in files),
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


SECTION = 1 << 20
HEAD = 200
"""characters of a text by which it is found"""


class LogLocation(NamedTuple):
    """Line and column, from 1, in the file's own text."""

    line: int
    column: int


def locate(path: Path, raw: str, at: int = 0) -> LogLocation | None:
    """Where the character `at` of `raw` stands in the file, as JSON writes it or as it is; None where it is not found.

    The file is read in sections, so that one of any size may be searched. Of several places the first is given.
    """
    for needle, ahead in _written(raw, at):
        location = _find(path, needle)
        if location is not None:
            return LogLocation(location.line, location.column + ahead)
    return None


def _written(raw: str, at: int) -> list[tuple[bytes, int]]:
    """The ways in which a log may hold the beginning of a text, and how far the character is from there."""
    ways: list[tuple[bytes, int]] = []
    for ascii_only in (False, True):
        head, ahead = (json.dumps(part, ensure_ascii=ascii_only)[1:-1] for part in (raw[:HEAD], raw[:at]))
        ways.append((head.encode("utf-8", "surrogatepass"), len(ahead)))
    ways.append((raw[:HEAD].encode("utf-8", "surrogatepass"), at if "\n" not in raw[:at] else 0))
    return [way for way in dict.fromkeys(ways) if way[0]]


def _find(path: Path, needle: bytes) -> LogLocation | None:
    line, column, tail = 1, 1, b""
    try:
        with path.open("rb") as file:
            while section := file.read(SECTION):
                text = tail + section
                at = text.find(needle)
                passed = text[: at if at >= 0 else max(0, len(text) - len(needle) + 1)]
                if feeds := passed.count(b"\n"):
                    line, column = line + feeds, 1
                column += len(passed[passed.rfind(b"\n") + 1 :].decode("utf-8", "ignore"))
                if at >= 0:
                    return LogLocation(line, column)
                tail = text[len(passed) :]
    except OSError:
        return None
    return None

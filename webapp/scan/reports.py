"""What a scan found, as one document; and the document as text, SARIF 2.1.0, JUnit's XML and one offline HTML page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from webapp import __version__
from webapp.exports import textmarks
from webapp.exports.formats import html
from webapp.exports.redaction import Redactor
from webapp.exports.textmarks import TextPiece
from webapp.parsing import parse
from webapp.parsing.drawing import Drawing, telling
from webapp.parsing.words import counted
from webapp.scan.checks import CHECKS
from webapp.scan.files import FoundLogs, locate
from webapp.scan.scanning import ScannedFile, ScannedSession
from webapp.visible import filesize, first, visible

Excerpts = Sequence[list[list[TextPiece]]]
"""marked lines for each session of a document"""
SEVERITIES = ("low", "medium", "high")
WORST, MOST_FILES = 10, 5
MOST_LINES, MOST_PIECES, LONGEST_PIECE = 4, 20, 80
HELD, NOTHING = (
    "No check is broken in what was looked at.",
    "No session to check. Name a file or a folder, or see --since.",
)
MARKS = {"kept": "✓", "broken": "✗", "unknown": "?"}
OWN = frozenset({"name", "words", "state", "severity", "rule"})  # keys under which stand words of Fencepost


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
        "sessions": [_session(session) for session in sessions],
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


def _session(session: ScannedSession) -> dict[str, Any]:
    """One session; `worst` names its turn, and the line and column of the log where that stands, if found."""
    worst, about = session.worst, asdict(session)
    place = worst and worst.raw and locate(Path(session.file), worst.raw, _fault_at(worst.raw))
    about["worst"] = worst and {"turn": worst.position, "place": place._asdict() if place else None}
    del about["ended_at"]
    return about | {"severity": session.severity or None}


def _fault_at(raw: str) -> int:
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
        "left_files": len(scan.found.files) - len(scan.files),
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


def masked(value: Any, redactor: Redactor, key: str = "") -> Any:
    """A document with what it says of logs masked: its keys and the words of Fencepost stay, as reports go by them."""
    if isinstance(value, dict):
        return {name: inner if name in OWN else masked(inner, redactor, name) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked(inner, redactor, key) for inner in value]
    is_under = key in map(str.lower, redactor.keys)
    return redactor.text(value) if isinstance(value, str) and not is_under else redactor.value(value, under=is_under)


def excerpts(scan: Scan, hide: Callable[[str], str]) -> Excerpts:
    """Of each session, as the document has them, the marked lines of its worst turn; none where no check is broken."""
    worst = (session.worst if session.broken else None for session in scan.sessions)
    return [_excerpt(hide(turn.raw)) if turn and turn.raw else [] for turn in worst]


def _excerpt(raw: str) -> list[list[TextPiece]]:
    """The marked lines of a response, as `fencepost parse` draws them: [-removed-], {+inserted+}, ⟦read⟧."""
    lines = Drawing(raw, telling(parse(raw))).marked_lines(0, MOST_LINES)
    return [list(textmarks.pieces(line, MOST_PIECES, LONGEST_PIECE)) for line in lines]


def text(
    document: dict[str, Any], excerpts: Excerpts, draw: Callable[[list[TextPiece]], str], *, every: bool
) -> Iterator[str]:
    """Lines for people: the worst sessions, or `every` one that breaks a check, the checks, and what was looked at.

    `draw` gives the text of a marked line.
    """
    broken = [pair for pair in zip(document["sessions"], excerpts, strict=True) if _broken(pair[0])]
    listed = broken if every else broken[:WORST]
    for number, (session, excerpt) in enumerate(listed, 1):
        yield visible(f"{number}. {_title(session)}  [{session['severity']}; broken: {_words(session)}]")
        yield from (visible(f"   {line}") for line in (session["sentence"], _place(session), _checklist(session)))
        yield from (f"     {draw(line)}" for line in excerpt)
        yield ""
    if len(broken) > len(listed):
        yield f"{len(broken) - len(listed)} more sessions break a check: --all prints them.\n"
    yield f"{'':17} {'kept':>8} {'broken':>8} {'not knowable':>13}" if document["sessions"] else NOTHING
    for check in document["checks"] if document["sessions"] else ():
        counts = f"{check['kept']:>8,} {check['broken']:>8,} {check['unknown']:>13,}"
        yield visible(f"{MARKS[_state(check)]} {check['words']:15} {counts}  {_why(check)}".rstrip())
    yield ""
    yield from map(visible, _looked(document))


def _title(session: dict[str, Any]) -> str:
    return str(session["title"] or session["id"])


def _words(session: dict[str, Any]) -> str:
    return ", ".join(CHECKS[name].words for name in _broken(session))


def _checklist(session: dict[str, Any]) -> str:
    """Each check with what came of it: `✓ JSON read  ✗ calls ran  ? not cut`."""
    return "  ".join(f"{MARKS[result['state']]} {CHECKS[name].words}" for name, result in session["checks"].items())


def _why(check: dict[str, Any]) -> str:
    """The most frequent reason why it is not knowable."""
    return str(check["why"][0]["reason"]) if check["why"] else ""


def _place(session: dict[str, Any]) -> str:
    """For example `turn 3, run.jsonl:8:120`; the file alone where no turn is the worst."""
    if not (worst := session["worst"]):
        return str(session["file"])
    place = f":{worst['place']['line']}:{worst['place']['column']}" if worst["place"] else ""
    return f"turn {worst['turn']}, {session['file']}{place}"


def _state(check: dict[str, Any]) -> str:
    return "broken" if check["broken"] else "unknown" if check["unknown"] or not check["kept"] else "kept"


def _looked(document: dict[str, Any]) -> Iterator[str]:
    looked, count = document["looked"], len(document["sessions"])
    unknowable = sum(check["unknown"] == count for check in document["checks"]) if count else 0
    responses, sessions, files = (counted(looked[f"{noun}s"], noun) for noun in ("response", "session", "file"))
    not_here = f"; {unknowable} of them not knowable here" if unknowable else ""
    size = filesize(looked["bytes"])
    yield f"Looked at {responses} in {sessions} of {files} ({size}); {len(CHECKS)} checks{not_here}."
    if not looked["complete"]:
        yield f"Interrupted: {looked['left_files']:,} files were not looked at."
    if older := [counted(looked[f"older_{noun}s"], noun) for noun in ("file", "session") if looked[f"older_{noun}s"]]:
        yield f"Older, not looked at: {', '.join(older)} (--since)."
    if programs := looked["programs"]:
        there = [f"{name} {count:,}" for name, count in programs.items() if count]
        missing = [name for name, count in programs.items() if not count]
        yield f"Logs on this machine: {', '.join(there) or 'none'}. No logs of {', '.join(missing)}."
    not_read = [f"{entry['file']}: {entry['reason'].splitlines()[0]}" for entry in looked["not_read"]]
    yield from first(not_read, MOST_FILES, "Not read: {}".format, "Not read: {} more files (--json lists them).")
    if problems := looked["problems"]:
        entries = counted(sum(problem["count"] for problem in problems), "entry", "entries")
        yield f"{entries} in {counted(len(problems), 'file')} could not be read whole (--json lists them)."


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
        place = (session["worst"] or {}).get("place")
        region = {"startLine": place["line"], "startColumn": place["column"]} if place else {"startLine": 1}
        where = {"artifactLocation": {"uri": Path(session["file"]).as_posix()}, "region": region}
        about = {"level": _LEVELS.get(session["severity"]), "locations": [{"physicalLocation": where}]}
        for name in _broken(session):
            yield {"ruleId": name, "message": {"text": visible(_message(session, name))}} | about


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


def page(document: dict[str, Any], excerpts: Excerpts) -> str:
    """One page to keep or send, with every session that breaks a check: nothing in it is loaded from anywhere."""
    pairs = list(zip(document["sessions"], excerpts, strict=True))
    sections = "".join(_section(session, excerpt) for session, excerpt in pairs if _broken(session))
    looked = "".join(f"<p>{html.text(line)}</p>" for line in _looked(document))
    names = "<tr><th></th><th>Check</th><th>kept</th><th>broken</th><th>not knowable</th><th>why</th></tr>"
    return (
        f"{html.head('fencepost scan')}<h1>fencepost scan</h1>{looked}"
        f"<table>{names}{''.join(map(_row, document['checks']))}</table>"
        f"{sections or f'<p>{HELD if pairs else NOTHING}</p>'}</html>"
    )


def _row(check: dict[str, Any]) -> str:
    counts = "".join(f'<td class="n">{check[state]:,}</td>' for state in ("kept", "broken", "unknown"))
    mark, words, why = map(html.text, (MARKS[_state(check)], check["words"], _why(check)))
    return f"<tr><td>{mark}</td><th>{words}</th>{counts}<td>{why}</td></tr>"


def _section(session: dict[str, Any], excerpt: list[list[TextPiece]]) -> str:
    title, sentence, place, checks = map(
        html.text, (_title(session), session["sentence"], _place(session), _checklist(session))
    )
    lines = "".join(f"{html.text(''.join(piece.text for piece in line))}\n" for line in excerpt)
    drawn = f"<pre>{lines}</pre>" if lines else ""
    return f"<h2>{title}</h2><p>{sentence}</p><p>{session['severity']}<br>{checks}<br>{place}</p>{drawn}"

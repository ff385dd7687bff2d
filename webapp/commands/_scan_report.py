"""What `fencepost scan` prints: what was looked at, each check, and the worst sessions with their excerpts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from webapp.exports import textmarks
from webapp.parsing import parse
from webapp.parsing.drawing import Drawing, telling
from webapp.scan.checks import CHECKS
from webapp.scan.reports import Scan, document, fault_at, locate, looked
from webapp.scan.scanning import ScannedSession
from webapp.visible import clipped, visible

Hide = Callable[[Any], Any]
"""masks what is not to be shown in a text, or in all texts of a value"""
WORST = 10
MOST_LINES, LONGEST_LINE = 4, 240
MOST_FILES = 5
MARKS = {"kept": "✓", "broken": "✗", "unknown": "?"}


def say(scan: Scan, hide: Hide, *, every: bool, on_machine: bool) -> None:
    """Print the whole report to standard output."""
    for line in _lines(scan, hide, every=every, on_machine=on_machine):
        click.echo(visible(line))


def _lines(scan: Scan, hide: Hide, *, every: bool, on_machine: bool) -> Iterator[str]:
    broken = [session for session in scan.sessions if session.broken]
    listed = broken if every else broken[:WORST]
    for number, session in enumerate(listed, 1):
        yield from _session(number, session, hide)
        yield ""
    if len(broken) > len(listed):
        yield f"{len(broken) - len(listed)} more sessions break a check: --all prints them."
        yield ""
    yield from _checks(scan)
    yield ""
    yield from _looked(scan, on_machine)


def _session(number: int, session: ScannedSession, hide: Hide) -> Iterator[str]:
    broken = ", ".join(CHECKS[name].words for name in session.broken)
    yield f"{number}. {hide(session.title or session.id)}  [{session.severity}; broken: {broken}]"
    yield f"   {hide(session.sentence)}"
    if session.worst is None:
        return
    place = session.worst.raw and locate_fault(session)
    yield f"   turn {session.worst.position}, {session.file}" + (f":{place}" if place else "")
    yield from (f"     {line}" for line in excerpt(hide(session.worst.raw)))


def locate_fault(session: ScannedSession) -> str:
    """`line:column` in the log of the worst turn; "" where it is not found."""
    raw = session.worst.raw if session.worst else ""
    place = locate(Path(session.file), raw, fault_at(raw))
    return f"{place.line}:{place.column}" if place else ""


def excerpt(raw: str) -> list[str]:
    """The marked lines of a response, as `fencepost parse` draws them: [-removed-], {+inserted+}, ⟦read⟧."""
    drawing = Drawing(raw, telling(parse(raw)))
    lines = drawing.marked_lines(0, MOST_LINES)
    return [clipped("".join(piece.text for piece in textmarks.pieces(line)), LONGEST_LINE) for line in lines]


def excerpts(scan: Scan, hide: Hide) -> dict[str, str]:
    """Of each session that breaks a check the excerpt of its worst turn, by the session's id."""
    worst = ((session.id, session.worst) for session in scan.sessions if session.broken)
    return {name: "\n".join(excerpt(hide(turn.raw))) for name, turn in worst if turn and turn.raw}


def _checks(scan: Scan) -> Iterator[str]:
    checks = document(Scan(scan.found, scan.files))["checks"]
    yield f"{'':17} {'kept':>8} {'broken':>8} {'not knowable':>13}"
    for check in checks:
        state = "broken" if check["broken"] else "unknown" if check["unknown"] or not check["kept"] else "kept"
        why = f"  {check['why'][0]['reason']}" if check["why"] else ""
        counts = f"{check['kept']:>8,} {check['broken']:>8,} {check['unknown']:>13,}"
        yield f"{MARKS[state]} {check['words']:15} {counts}{why}"


def _looked(scan: Scan, on_machine: bool) -> Iterator[str]:
    sums = looked(scan)
    unknowable = sum(all(s.checks[name].state == "unknown" for s in scan.sessions) for name in CHECKS)
    yield (
        f"Looked at {sums['responses']:,} responses in {sums['sessions']:,} sessions of {sums['files']:,} files "
        f"({sums['bytes'] / 1e6:,.1f} MB); {len(CHECKS)} checks"
        + (f"; {unknowable} of them not knowable here." if unknowable and scan.sessions else ".")
    )
    if not scan.complete:
        yield f"Interrupted: {len(scan.found.files) - len(scan.files):,} files were not looked at."
    if sums["older_files"] or sums["older_sessions"]:
        yield f"Older, not looked at: {sums['older_files']:,} files, {sums['older_sessions']:,} sessions (--since)."
    if on_machine:
        programs = [f"{name} {count:,}" for name, count in scan.found.programs.items() if count]
        missing = [name for name, count in scan.found.programs.items() if not count]
        yield f"Logs on this machine: {', '.join(programs) or 'none'}. No logs of {', '.join(missing)}."
    for entry in sums["not_read"][:MOST_FILES]:
        yield f"Not read: {entry['file']}: {entry['reason'].splitlines()[0]}"
    if len(sums["not_read"]) > MOST_FILES:
        yield f"Not read: {len(sums['not_read']) - MOST_FILES:,} more files (--json lists them)."
    if sums["problems"]:
        count = sum(problem["count"] for problem in sums["problems"])
        yield f"{count:,} entries in {len(sums['problems']):,} files could not be read whole (--json lists them)."

"""The gate's report as JSON, as JUnit XML, as Markdown, and as a workflow's error lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from xml.etree import ElementTree as ET

from webapp import jsontext
from webapp.exports import textmarks
from webapp.gate import judging
from webapp.gate.checking import KINDS, Report, SampleChange, as_dict
from webapp.gate.judging import OUTCOMES, Judged
from webapp.markdown import code, escaped
from webapp.parsing import Trace, words
from webapp.visible import clipped, first, visible

SHORT = {
    "right": "right",
    "wrong": "silently wrong",
    "missed": "missed",
    "spurious": "spurious",
    "nothing": "rightly nothing",
    None: "no label",
}
MOST_LINES = 50
"""changes of one kind that a Markdown report lists"""


def to_json(report: Report) -> str:
    return json.dumps(json.loads(jsontext.portable(as_dict(report))), ensure_ascii=True, indent=2) + "\n"


def to_xml(report: Report) -> str:
    """JUnit XML: a test case a response, a failure where it makes the gate fail; what it cannot hold is escaped.

    The gate itself is a test case too, so that the file holds a failure just where the verdict is not passed.
    """
    failing = {change.sample.id: change for change in report.changes if _fails(report, change)}
    names = {change.sample.id: change.sample.called for change in report.changes}
    suite = ET.Element("testsuite", name=f"fencepost {visible(report.profile)}")
    gate = ET.SubElement(suite, "testcase", classname="fencepost", name="gate")
    if report.verdict == "error":
        ET.SubElement(gate, "error", message=visible("; ".join(report.reasons)))
    elif report.verdict == "failed":
        ET.SubElement(gate, "failure", message=visible("; ".join(report.reasons)))
    for ident, outcome in report.rights.items():
        case = ET.SubElement(suite, "testcase", classname="fencepost.responses", name=visible(names.get(ident, ident)))
        if ident in failing:
            failure = ET.SubElement(case, "failure", message=sentence(failing[ident]))
            failure.text = visible(details(failing[ident]))
        elif outcome is None:
            ET.SubElement(case, "system-out").text = "no final label says what was meant"
    suite.set("tests", str(len(report.rights) + 1))
    suite.set("failures", str(len(failing) + (report.verdict == "failed")))
    suite.set("errors", str(int(report.verdict == "error")))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"


def _fails(report: Report, change: SampleChange) -> bool:
    return change.kind == "regression" or (report.strict and change.kind == "changed")


def to_markdown(report: Report) -> str:
    """For a pull request or a job's summary."""
    return "\n".join(_markdown(report)) + "\n"


FORMS = {".json": to_json, ".xml": to_xml, ".md": to_markdown}
"""what writes a report into a file, by its suffix"""


def _markdown(report: Report) -> Iterator[str]:
    yield f"## Fencepost: {report.verdict}\n"
    yield f"{code(report.profile)} {escaped(report.version)} over {report.checked:,} responses"
    yield f"({report.labelled:,} with a final label{f', split {report.split}' if report.split else ''}).\n"
    more = "and {} more, all in the JSON report"
    yield from first(report.reasons, MOST_LINES, lambda reason: f"- **{escaped(reason)}**", f"- {more}")
    for kind, meaning in KINDS.items():
        changes = report.of(kind)
        if not changes:
            continue
        yield f"\n### {kind.capitalize()}: {len(changes):,}\n\n{escaped(meaning)}\n"
        yield "| response | was | is now | first difference |\n|---|---|---|---|"
        yield from first(changes, MOST_LINES, _row, f"\n{more}")
    for ident in report.unused:
        yield f"\nAllowed, and not needed any more: {code(ident)}"


def _row(change: SampleChange) -> str:
    cells = (code(change.sample.called), *map(escaped, (*_outcomes(change), _where(change))))
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def error_lines(report: Report) -> Iterator[str]:
    """The lines by which a GitHub workflow marks what failed; none where the gate passed."""
    if report.verdict == "passed":
        return
    for reason in report.reasons[:MOST_LINES]:
        yield f"::error title=Fencepost gate::{_data(reason)}"
    for change in [change for change in report.changes if _fails(report, change)][:MOST_LINES]:
        yield f"::error title=Fencepost {change.kind}::{_data(f'{change.sample.called}: {sentence(change)}')}"


def _data(text: str) -> str:
    """Text within a workflow command: on one line, and nothing of it a command."""
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def sentence(change: SampleChange) -> str:
    """`right before, silently wrong now: differs at [0].a`."""
    allowed = f" (allowed: {change.reason})" if change.reason else ""
    was, now = _outcomes(change)
    return visible(f"{was} before, {now} now: {_where(change)}{allowed}")


def _outcomes(change: SampleChange) -> Iterator[str]:
    """What it was and is in words; the verdict where no final label says what was meant."""
    for outcome, reading in ((change.was, change.before), (change.now, change.after)):
        yield SHORT[outcome] if outcome else reading.verdict


def _where(change: SampleChange) -> str:
    if change.before.digest == change.after.digest:
        return "the same values"
    if change.before.values is None or change.after.values is None:
        return "other values, too long to be kept"
    if not change.before.values or not change.after.values:
        return f"{_count(change.before.values)} before, {_count(change.after.values)} now"
    difference = judging.first(change.before.values, change.after.values)
    return f"differs {difference.where}" if difference else "differs"


def _count(values: tuple[object, ...]) -> str:
    return words.counted(len(values), "value") if values else "no value"


def details(change: SampleChange) -> str:
    """The values before and now, and those that were meant, as a failure holds them."""
    lines = [sentence(change)]
    sides = (("before", change.before.values), ("now", change.after.values), ("meant", change.sample.meant))
    for name, values in sides:
        if values is not None:
            lines.append(f"{name}: {clipped(jsontext.portable(list(values)), 4_000)}")
    return "\n".join(lines)


LONGEST_VALUE = 2_000
MOST_ATTEMPTS = 20
MOST_EDITS = 20


def drawn(raw: str, trace: Trace, meant: Sequence[Any], judged: Judged) -> str:
    """What a failing test prints; every line is safe for a terminal."""
    return "\n".join(_lines(raw, trace, meant, judged))


def _lines(raw: str, trace: Trace, meant: Sequence[Any], judged: Judged) -> Iterator[str]:
    yield f"{OUTCOMES[judged.outcome]} ({trace.profile} {trace.version}: {words.trace_sentence(trace)})"
    yield ""
    yield textmarks.marked_text(raw, trace)
    yield ""
    yield from _attempts(raw, trace)
    yield ""
    yield from _values("expected", meant)
    yield from _values("got", trace.values)
    if meant and trace.values and (difference := judging.first(meant, trace.values)):
        yield f"first difference {visible(difference.where)}:"
        yield f"  expected {_side(difference.a, difference.missing == 'a')}"
        yield f"  got      {_side(difference.b, difference.missing == 'b')}"


def _attempts(raw: str, trace: Trace) -> Iterator[str]:
    if not trace.attempts:
        yield "no attempt: the text contains no candidate for JSON"
    for index, attempt in enumerate(trace.attempts[:MOST_ATTEMPTS]):
        sentence = words.attempt_sentence(attempt, index in trace.chosen)
        yield visible(f"attempt {index + 1}, {attempt.strategy} {attempt.span.start}–{attempt.span.end}: {sentence}")
        edits = first(attempt.edits, MOST_EDITS, partial(words.edit_sentence, raw), "and {} more edits")
        yield from (visible(f"  {edit}") for edit in edits)
    if len(trace.attempts) > MOST_ATTEMPTS:
        yield f"and {len(trace.attempts) - MOST_ATTEMPTS} more attempts"


def _values(name: str, values: Sequence[Any]) -> Iterator[str]:
    if not values:
        yield f"{name}: no JSON" if name == "expected" else f"{name}: no value"
    for value in values:
        yield f"{name}: {_side(value, False)}"


def _side(value: Any, is_missing: bool) -> str:
    if is_missing:
        return "nothing there"
    try:
        text = jsontext.dumps(value)
    except RecursionError:
        return "a value nested too deep to show"
    more = len(text) - LONGEST_VALUE
    return text if more <= 0 else f"{text[:LONGEST_VALUE]} … {more:,} characters more"

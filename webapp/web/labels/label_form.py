"""The label form: what it holds, what is wrong with what was typed, and which profiles read what value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from webapp.parsing import Trace, words
from webapp.store.labels import label_content
from webapp.store.labels.label_content import BadLabel, BadValue, LabelContent, read, written
from webapp.store.models import Session, Turn
from webapp.store.sessions.turns import TurnDetail
from webapp.store.write.parser import OURS
from webapp.web import verdict_column
from webapp.web.windows import TaggedText

EXPECTS = {"": "no expected value", "value": "value", "none": "no JSON is meant", "unknown": "cut off: unknown"}

STORED_EXPECTS = {"one": "one expected value", "several": "several expected values"}


def expects_words(expects: str | None) -> str:
    """What a stored label expects, in words; "" where it says nothing of it."""
    return STORED_EXPECTS.get(expects or "", EXPECTS.get(expects, "")) if expects else ""


@dataclass(frozen=True, slots=True)
class Fields:
    judgement: str = ""
    cause: str = ""
    note: str = ""
    expects: str = ""
    expected: str = ""
    seen: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class CheckedValue:
    """What the expected text is: `values` where it is JSON; else the error with the line it stands on.

    `before` is what stands on that line before the error.
    """

    values: list[Any] | None
    error: BadValue | None = None
    before: str = ""
    rest: str = ""


def of_label(label: Any, seen_stamp: str) -> Fields:
    expects = "value" if label.expects in ("one", "several") else label.expects or ""
    values: list[Any] = list(label.expected or ()) if label.expects == "several" else [label.expected]
    text = written(values) if expects == "value" else ""
    return Fields(label.judgement, label.cause or "", label.note or "", expects, text, seen_stamp, label.source or "")


def of_form(form: Mapping[str, str]) -> Fields:
    return Fields(**{name: form.get(name, "").replace("\r\n", "\n") for name in Fields.__dataclass_fields__})


def check(fields: Fields) -> CheckedValue:
    """Read the expected text; no values where nothing is said of it, an empty list where no JSON is meant."""
    if fields.expects in ("none", "unknown"):
        return CheckedValue([] if fields.expects == "none" else None)
    try:
        return CheckedValue(read(fields.expected) or None)
    except BadValue as error:
        line = fields.expected.split("\n")[error.line - 1]
        at = error.column - 1
        return CheckedValue(None, error, line[max(0, at - 60) : at], line[at : at + 20])


def said(fields: Fields, seconds: float | None = None) -> LabelContent:
    """What the form says; raises `BadLabel` where the expected text is not JSON."""
    checked = check(fields)
    if checked.error is not None:
        error = checked.error
        raise BadLabel(f"the expected value is not JSON: line {error.line}, column {error.column}: {error.message}")
    values = checked.values if fields.expects not in ("none", "unknown") else None
    expects = fields.expects or None
    if values is not None:
        expects = "several" if len(values) > 1 else "one"
    elif expects == "value":
        expects = None
    expected = None if values is None else values if expects == "several" else values[0]
    said_of_it = (fields.judgement, fields.cause or None, fields.note or None)
    return LabelContent(*said_of_it, expects, expected, seconds, fields.source or None)


CAUSES = {
    "extra_closer": "extra-closing",
    "missing_closer": "missing-closing",
    "doubled_brace": "double-braces",
    "unescaped_quote": "inner-quotes",
    "missing_quote": "unbalanced-quotes",
    "doubled_quote": "unbalanced-quotes",
    "quotation_mark": "smart-quotes",
    "unquoted_key": "unquoted-keys",
    "control_character": "control-chars",
    "invisible_character": "bom-zero-width",
    "escaped_quotes": "escaped-json",
    "literal": "python-literals",
    "non_finite": "nan-infinity",
    "number": "hex-numbers",
    "comment": "comments",
    "ellipsis": "ellipsis",
    "fence_inside": "fence-in-string",
    "truncation": "truncated",
    "cut_literal": "truncated",
    "cut_number": "truncated",
}
"""the known cause for which each repair is needed; another repair's own name is its cause"""


def start(session: Session, turn: Turn, traces: Mapping[str, Trace]) -> Fields:
    """The fields of a response that its reader has not labelled: *missed* where your parser failed, and a cause."""
    home = traces.get(session.home_profile)
    failed = turn.recorded_failure is not None or (home is not None and home.verdict == "failed")
    return Fields(judgement="missed", cause=cause(traces.get(OURS))) if failed else Fields()


def cause(trace: Trace | None) -> str:
    """The cause that the first repair of the chosen value names; "" where nothing was repaired."""
    edits = words.chosen_edits(trace) if trace else []
    return CAUSES.get(edits[0].repair, edits[0].repair.replace("_", "-")) if edits else ""


def judgement(meant: Sequence[Any], returned: Sequence[Any] | None) -> str:
    """What follows from the values that were meant, [] where no JSON is, and those that your parser returned."""
    if not meant:
        return "right" if returned is None else "spurious"
    if returned is None:
        return "missed"
    return "right" if label_content.same_as(returned) == label_content.same_as(meant) else "wrong"


SHOWN = 40
"""lines of a value, or of a difference"""
_LONGEST = 400
"""characters of a line"""
_COMPARED = 600


def every_trace(detail: TurnDetail) -> dict[str, Trace]:
    """What each profile makes of a response, or why it makes nothing."""
    return verdict_column.of_turn(detail, detail.session.first_profile, light=False)


def checked(detail: TurnDetail, fields: Fields, traces: Mapping[str, Trace]) -> dict[str, Any]:
    """What the expected text is, and each profile's value beside it."""
    typed = check(fields)
    by_value = groups(traces, detail.session.first_profile, typed.values)
    return {"check": typed, "groups": by_value, "shortest": shortest(traces), "fields": fields}


def groups(traces: Mapping[str, Trace], home: str, expected: Sequence[Any] | None) -> list[dict[str, Any]]:
    """The profiles' results: the home profile's first, then in the order of `traces`; no value comes last.

    Prose in quotes, as another profile than the home profile may make it, is nobody's expected value.
    """
    by_result: dict[str, list[str]] = {}
    for name, trace in traces.items():
        if name != home and trace.is_quoted_prose:
            continue
        by_result.setdefault(_result(trace), []).append(name)
    ordered = sorted(by_result.items(), key=lambda item: (home not in item[1], item[0] == ""))
    return [_group(names, traces, home, expected) for _, names in ordered]


def shortest(traces: Mapping[str, Trace]) -> dict[str, str] | None:
    """The least that makes JSON of the response: the repaired result with the fewest characters changed, and why."""
    read = [trace for trace in traces.values() if not trace.is_quoted_prose]
    repaired = [trace for trace in read if trace.verdict == "repaired"]
    if not repaired:
        return None
    trace = min(repaired, key=lambda trace: (_cost(trace), trace.profile != "fencepost"))
    edits = words.chosen_edits(trace)
    costs = f"{words.counted(len(edits), 'edit')}, {words.counted(_cost(trace), 'character')}"
    return {"profile": trace.profile, "summary": f"{costs}: {', '.join(words.repair_names(edits))}"}


def _cost(trace: Trace) -> int:
    return sum(len(edit.old) + len(edit.new) for edit in words.chosen_edits(trace))


def _result(trace: Trace) -> str:
    return label_content.same_as(trace.values) if trace.chosen else ""


def _group(names: list[str], traces: Mapping[str, Trace], home: str, expected: Sequence[Any] | None) -> dict[str, Any]:
    """Profiles of one result. `same` says whether it is what is expected, None where that is not known."""
    trace = traces[names[0]]
    verdicts: list[str] = [traces[name].verdict for name in names]
    group = {"names": names, "verdicts": verdicts, "home": home in names, "lines": [], "more": 0}
    if not trace.chosen:
        same = None if expected is None else not expected
        return group | {"has_value": False, "same": same, "sentence": words.trace_sentence(trace)}
    same = None if expected is None else label_content.same_as(trace.values) == label_content.same_as(expected)
    text = label_content.written(trace.values).split("\n")
    if same is False and expected:
        lines = difference(text, label_content.written(expected).split("\n"))
    else:
        lines = [TaggedText("text", line) for line in text]
    first_lines = [TaggedText(line.tag, line.text[:_LONGEST]) for line in lines[:SHOWN]]
    return group | {"has_value": True, "same": same, "lines": first_lines, "more": max(0, len(lines) - SHOWN)}


def difference(here: list[str], expected: list[str]) -> list[TaggedText]:
    """Line by line, each difference (del: only here, ins: only in the expected value) with two lines round it."""
    here, expected = here[:_COMPARED], expected[:_COMPARED]
    lines: list[TaggedText] = []
    for group in SequenceMatcher(None, here, expected, autojunk=False).get_grouped_opcodes(2):
        if lines:
            lines.append(TaggedText("text", "…"))
        for tag, a, b, c, d in group:
            if tag == "equal":
                lines += [TaggedText("text", line) for line in here[a:b]]
            else:
                lines += [TaggedText("del", line) for line in here[a:b]]
                lines += [TaggedText("ins", line) for line in expected[c:d]]
    return lines

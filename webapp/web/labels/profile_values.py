"""What each profile made of a response: equal values together, and how each differs from the expected one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from webapp.parsing import Trace, words
from webapp.store.labels import label_content
from webapp.store.sessions.turns import TurnDetail
from webapp.web import verdict_column
from webapp.web.labels import label_form

SHOWN = 40
"""lines of a value, or of a difference"""
_LONGEST = 400
"""characters of a line"""
_COMPARED = 600


@dataclass(frozen=True, slots=True)
class ValueLine:
    """One line: `tag` is text, del (only here) or ins (only in the expected value)."""

    tag: str
    text: str


@dataclass(frozen=True, slots=True)
class ResultGroup:
    """Profiles of one result. `same` says whether it is what is expected, None where that is not known."""

    names: list[str]
    verdicts: list[str]
    home: bool
    has_value: bool
    same: bool | None
    lines: list[ValueLine]
    more: int
    sentence: str

    @property
    def first(self) -> str:
        return self.names[0]


@dataclass(frozen=True, slots=True)
class LeastChange:
    """The value that costs the fewest changed characters, and why it is that one."""

    profile: str
    summary: str


def every_trace(detail: TurnDetail) -> dict[str, Trace | str]:
    """What each profile makes of a response, or why it makes nothing."""
    return verdict_column.of_turn(detail, detail.session.first_profile, light=False)


def checked(detail: TurnDetail, fields: label_form.Fields, traces: Mapping[str, Trace | str]) -> dict[str, Any]:
    """What the expected text is, and each profile's value beside it."""
    check = label_form.check(fields)
    by_value = groups(traces, detail.session.first_profile, check.values)
    return {"check": check, "groups": by_value, "shortest": shortest(traces), "fields": fields}


def groups(traces: Mapping[str, Trace | str], home: str, expected: Sequence[Any] | None) -> list[ResultGroup]:
    """The profiles' results: the home profile's first, then in the order of `traces`; no value comes last.

    Prose in quotes, as another profile than the home profile may make it, is nobody's expected value.
    """
    by_result: dict[str, list[str]] = {}
    for name, trace in traces.items():
        if name != home and isinstance(trace, Trace) and trace.is_quoted_prose:
            continue
        by_result.setdefault(_result(trace), []).append(name)
    ordered = sorted(by_result.items(), key=lambda item: (home not in item[1], item[0] == ""))
    return [_group(names, traces, home, expected) for _, names in ordered]


def shortest(traces: Mapping[str, Trace | str]) -> LeastChange | None:
    """The least that makes JSON of the response: the repaired result with the fewest characters changed."""
    read = [trace for trace in traces.values() if isinstance(trace, Trace) and not trace.is_quoted_prose]
    repaired = [trace for trace in read if trace.verdict == "repaired"]
    if not repaired:
        return None
    trace = min(repaired, key=lambda trace: (_cost(trace), trace.profile != "fencepost"))
    edits = words.chosen_edits(trace)
    costs = f"{words.counted(len(edits), 'edit')}, {words.counted(_cost(trace), 'character')}"
    return LeastChange(trace.profile, f"{costs}: {', '.join(words.repair_names(edits))}")


def _cost(trace: Trace) -> int:
    return sum(len(edit.old) + len(edit.new) for edit in words.chosen_edits(trace))


def _result(trace: Trace | str) -> str:
    return label_content.same_as(trace.values) if isinstance(trace, Trace) and trace.chosen else ""


def _group(
    names: list[str], traces: Mapping[str, Trace | str], home: str, expected: Sequence[Any] | None
) -> ResultGroup:
    trace = traces[names[0]]
    verdicts: list[str] = [result.verdict if isinstance(result := traces[name], Trace) else "failed" for name in names]
    sentence = words.trace_sentence(trace) if isinstance(trace, Trace) else trace
    if not isinstance(trace, Trace) or not trace.chosen:
        same = None if expected is None else not expected
        return ResultGroup(names, verdicts, home in names, False, same, [], 0, sentence)
    same = None if expected is None else label_content.same_as(trace.values) == label_content.same_as(expected)
    text = label_content.written(trace.values).split("\n")
    if same is False and expected:
        lines = difference(text, label_content.written(expected).split("\n"))
    else:
        lines = [ValueLine("text", line) for line in text]
    first_lines = [ValueLine(line.tag, line.text[:_LONGEST]) for line in lines[:SHOWN]]
    return ResultGroup(names, verdicts, home in names, True, same, first_lines, max(0, len(lines) - SHOWN), sentence)


def difference(here: list[str], expected: list[str]) -> list[ValueLine]:
    """Line by line, each difference with two lines round it."""
    here, expected = here[:_COMPARED], expected[:_COMPARED]
    lines: list[ValueLine] = []
    for group in SequenceMatcher(None, here, expected, autojunk=False).get_grouped_opcodes(2):
        if lines:
            lines.append(ValueLine("text", "…"))
        for tag, a, b, c, d in group:
            if tag == "equal":
                lines += [ValueLine("text", line) for line in here[a:b]]
            else:
                lines += [ValueLine("del", line) for line in here[a:b]]
                lines += [ValueLine("ins", line) for line in expected[c:d]]
    return lines

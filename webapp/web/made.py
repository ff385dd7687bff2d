"""What each profile made of a response: equal values together, and how each differs from the expected one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from webapp.parsing import Trace
from webapp.store.labelling import values
from webapp.web import words

SHOWN = 40
"""lines of a value, or of a difference"""
_LONGEST = 400
"""characters of a line"""
_COMPARED = 600


@dataclass(frozen=True, slots=True)
class Line:
    """One line: `tag` is text, del (only here) or ins (only in the expected value)."""

    tag: str
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """Profiles of one result. `same` says whether it is what is expected, None where that is not known."""

    names: list[str]
    verdicts: list[str]
    home: bool
    has_value: bool
    same: bool | None
    lines: list[Line]
    more: int
    said: str

    @property
    def first(self) -> str:
        return self.names[0]


@dataclass(frozen=True, slots=True)
class Shortest:
    """The value that costs the fewest changed characters, and why it is that one."""

    profile: str
    said: str


def groups(traces: Mapping[str, Trace | str], home: str, expected: Sequence[Any] | None) -> list[Group]:
    """The profiles' results: the home profile's first, then in the order of `traces`; no value comes last."""
    found: dict[str, list[str]] = {}
    for name, trace in traces.items():
        found.setdefault(_result(trace), []).append(name)
    ordered = sorted(found.items(), key=lambda item: (home not in item[1], item[0] == ""))
    return [_group(names, traces, home, expected) for _, names in ordered]


def shortest(traces: Mapping[str, Trace | str]) -> Shortest | None:
    """The least that makes JSON of the response: the repaired result with the fewest characters changed."""
    repaired = {
        name: trace for name, trace in traces.items() if isinstance(trace, Trace) and trace.verdict == "repaired"
    }
    if not repaired:
        return None
    name = min(repaired, key=lambda name: (_cost(repaired[name]), name != "fencepost"))
    edits = [edit for index in repaired[name].chosen for edit in repaired[name].attempts[index].edits]
    kinds = ", ".join(dict.fromkeys(edit.repair.replace("_", " ") for edit in edits))
    count, cost = len(edits), _cost(repaired[name])
    said = f"{count} edit{'s' * (count != 1)}, {cost} character{'s' * (cost != 1)}: {kinds}"
    return Shortest(name, said)


def _cost(trace: Trace) -> int:
    return sum(len(edit.old) + len(edit.new) for index in trace.chosen for edit in trace.attempts[index].edits)


def _result(trace: Trace | str) -> str:
    return values.same_as(trace.values) if isinstance(trace, Trace) and trace.chosen else ""


def _group(names: list[str], traces: Mapping[str, Trace | str], home: str, expected: Sequence[Any] | None) -> Group:
    trace = traces[names[0]]
    verdicts: list[str] = [each.verdict if isinstance(each := traces[name], Trace) else "failed" for name in names]
    said = words.trace_sentence(trace) if isinstance(trace, Trace) else trace
    if not isinstance(trace, Trace) or not trace.chosen:
        same = None if expected is None else not expected
        return Group(names, verdicts, home in names, False, same, [], 0, said)
    same = None if expected is None else values.same_as(trace.values) == values.same_as(expected)
    text = values.written(trace.values).split("\n")
    if same is False and expected:
        lines = _difference(text, values.written(expected).split("\n"))
    else:
        lines = [Line("text", line) for line in text]
    shown = [Line(line.tag, line.text[:_LONGEST]) for line in lines[:SHOWN]]
    return Group(names, verdicts, home in names, True, same, shown, max(0, len(lines) - SHOWN), said)


def _difference(here: list[str], wanted: list[str]) -> list[Line]:
    """Line by line, each difference with two lines round it."""
    here, wanted = here[:_COMPARED], wanted[:_COMPARED]
    lines: list[Line] = []
    for group in SequenceMatcher(None, here, wanted, autojunk=False).get_grouped_opcodes(2):
        if lines:
            lines.append(Line("text", "…"))
        for tag, a, b, c, d in group:
            if tag == "equal":
                lines += [Line("text", line) for line in here[a:b]]
            else:
                lines += [Line("del", line) for line in here[a:b]] + [Line("ins", line) for line in wanted[c:d]]
    return lines

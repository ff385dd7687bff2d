"""Native tool calls are calls: the whole call or its arguments as the value, and the tool's name in the trace."""

from __future__ import annotations

import re

import pytest

from tests.parsing._cases import FOLDER, read
from tests.parsing.promises import keeps_its_promises
from webapp.parsing import parse
from webapp.parsing.drawing import nodes
from webapp.parsing.edit import apply, places

FAMILIES = read(FOLDER / "calls" / "families.md")


@pytest.mark.parametrize("case", FAMILIES, ids=lambda case: case.name)
def test_the_call_of_each_family_is_read_and_its_tool_is_named(case) -> None:
    trace = keeps_its_promises(case.raw)
    notes = [trace.attempts[index].note or "" for index in trace.chosen]
    assert list(trace.values) == case.values
    assert " ".join(", ".join(re.findall(r"calls ([\w., -]+)", note)) for note in notes).replace(",", "").split() == [
        name.strip(",") for name in case.done
    ]


@pytest.mark.parametrize("case", FAMILIES, ids=lambda case: case.name)
def test_a_call_that_is_cut_is_flagged_or_gives_nothing(case) -> None:
    thoughtful = "THINKING" in case.raw or "analysis" in case.raw  # a thought that is all there is may hold the answer
    for end in range(len(case.raw) if thoughtful else 1, len(case.raw)):
        trace = parse(case.raw[:end])
        assert trace.truncated or all(value in case.values for value in trace.values), case.raw[:end]


def test_each_argument_has_its_place() -> None:
    raw = "<function=f>\n<parameter=city>\nNew York\n</parameter>\n<parameter=n>3</parameter>\n</function>"
    trace = parse(raw)
    attempt = trace.attempts[trace.chosen[0]]
    mapping = places(attempt.span, attempt.edits)
    text = apply(raw, attempt.span, attempt.edits)
    spans = [mapping.raw(node.start, node.end or 0).of(raw) for node in nodes(text, 20)[0] if node.kind == "number"]
    assert spans == ["3"]
    assert "not JSON as written" in (attempt.note or "")


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        ('Text<sup>[1]</sup>.\n{"a": 1}', [{"a": 1}]),
        ('<observation>{"y": 2}</observation>\n{"action": "final"}', [{"action": "final"}]),
        ('List<String>[] xs; then {"x": 1}', [{"x": 1}]),
        ('<result>{"d": 1}</result>', [{"d": 1}]),
        ('<think>{"a": 0}</think><answer>{"a": 1}</answer> and {"b": 2} is no answer', [{"a": 1}]),
    ],
)
def test_a_tag_is_a_hint_and_no_verdict(raw: str, values: list[object]) -> None:
    assert list(parse(raw).values) == values

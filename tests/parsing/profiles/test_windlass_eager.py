"""Report 001 before its fix: how Python code became 22 validation errors."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from webapp.parsing import parse
from webapp.parsing.edit import Edit
from webapp.parsing.profiles import windlass
from webapp.parsing.span import Span

PYTHON = "results = {\n    'first_n_fibonacci': [],\n    'sum': 42\n}\nprint(f\"Sum: {results['sum']:,}\")\n"
TWO = (
    "Here's how you would structure the result:\n\n"
    '{\n  "fibonacci": [0, 1, 1, 2, ...],\n  "sum": 42\n}\n\nNow let me actually call the tool:\n\n'
    '```json\n{"tool": "set_state", "arguments": {"key": "result", "value": 42}}\n```\n\nDone!\n'
)


def test_python_code_is_caught_twice_and_each_is_an_error():
    trace = parse(PYTHON, "windlass-eager")
    assert [attempt.strategy for attempt in trace.attempts] == ["balanced", "balanced"]
    assert trace.verdict == "failed"
    assert all(
        attempt.note.startswith("a validation error for the agent: Expecting property name")
        for attempt in trace.attempts
    )


def test_both_blocks_are_caught_and_the_fence_comes_first():
    trace = parse(TWO, "windlass-eager")
    assert trace.values == ({"tool": "set_state", "arguments": {"key": "result", "value": 42}},)
    call, other = trace.attempts
    assert (call.strategy, call.note) == ("fenced", "tool call prompt_tool_0: set_state")
    assert other.outcome == "failed"
    assert other.note.startswith("dropped, since another block is a call: ")


def test_with_two_levels_inside_only_fragments_are_found():
    raw = 'I call {"tool": "t", "arguments": {"a": {"b": 1}}} now'
    trace = parse(raw, "windlass-eager")
    assert trace.verdict == "none"
    assert [attempt.reason for attempt in trace.attempts] == ['decoded, but has no "tool": ignored silently']
    assert trace.attempts[0].span.of(raw) == '{"a": {"b": 1}}'


def test_what_stands_around_a_fence_joins():
    raw = '{"tool": ```\n{"x": 1}\n```"t"}'
    trace = parse(raw, "windlass-eager")
    assert trace.values == ({"tool": "t"},)
    start, end = raw.index("```"), raw.rindex("```") + 3
    assert trace.attempts[1].edits == (Edit("removed_fence", Span(start, end), raw[start:end], ""),)
    assert trace.attempts[1].span == Span(0, len(raw))


@settings(max_examples=500)
@given(st.text(st.sampled_from("{} a"), max_size=30))
def test_the_possessive_pattern_equals_the_report_s(text):
    pattern = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", re.DOTALL)
    found = [match.span() for match in windlass.BRACES.finditer(text)]
    assert found == [match.span() for match in pattern.finditer(text)]

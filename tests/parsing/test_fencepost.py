"""The fencepost profile on the responses of the reports, and on what must not be taken for JSON."""

from __future__ import annotations

import pytest

from webapp.parsing import parse
from webapp.parsing.decode import decode
from webapp.parsing.edit import apply, places
from webapp.parsing.escaped import peel


def test_the_call_with_four_closers_is_read_and_two_are_removed() -> None:
    raw = 'I will run it:\n```json\n{"tool": "run_code", "arguments": {"code": "print(1)"}}}}\n```\n'
    trace = parse(raw)
    assert (trace.verdict, trace.truncated) == ("repaired", False)
    assert trace.values == ({"tool": "run_code", "arguments": {"code": "print(1)"}},)
    (edit,) = trace.attempts[trace.chosen[0]].edits
    assert (edit.repair, edit.old, edit.new, edit.span.start) == ("extra_closer", "}}", "", raw.index("}}}}") + 2)


def test_prose_is_none_and_says_so() -> None:
    trace = parse("The capital of France is Paris.")
    assert (trace.verdict, trace.attempts[0].outcome, trace.values) == ("none", "failed", ())


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("It costs {price} today.", "placeholder"),
        ("results = {\n    'first': [],\n    'sum': 42\n}\nprint(f\"{results['sum']:,}\")", "assigned"),
        ("return {k: v for k, v in x.items()}", "comprehension"),
        ("see [1] for details", "reference"),
        ("read [the page](http://x.y)", "word in brackets"),
        ("curl -d '{\"a\": 1}' http://h/", "shell"),
        ("```python\nx = {'a': 1}\n```", "a fence of python"),
    ],
)
def test_what_is_no_json_is_rejected_with_the_reason(raw: str, reason: str) -> None:
    trace = parse(raw)
    assert (trace.verdict, trace.values) == ("none", ())
    assert any(attempt.outcome == "rejected" and reason in (attempt.reason or "") for attempt in trace.attempts)


def test_no_fragment_of_a_broken_value_is_taken() -> None:
    raw = '{"outer": {"inner": {"a": 1}} and then; {"b": 2}'
    assert {"a": 1} not in parse(raw).values


def test_a_thought_is_read_only_where_nothing_stands_outside() -> None:
    assert parse('<think>{"a": 0}</think>{"a": 1}').values == ({"a": 1},)
    assert parse('<think>{"a": 0}</think>').values == ({"a": 0},)


def test_rejected_candidates_beyond_the_limit_are_counted() -> None:
    trace = parse("{x} " * 3_000)
    assert trace.exhausted and len(trace.attempts) < 2_100
    assert "more candidates" in (trace.attempts[-1].reason or "")


def test_nan_is_no_json() -> None:
    failure = decode('["NaN", NaN]', finite=True).failure
    assert failure and (failure.type, failure.message, failure.at) == ("JSONDecodeError", "Expecting value", 8)
    assert decode("[NaN]").failure is None


def test_a_layer_of_escapes_keeps_its_places() -> None:
    raw = r'say "{\"a\": \"b\\n\", }" now'
    layer = peel(raw, 5, len(raw))
    assert apply(raw, *layer) == '{"a": "b\\n", }'
    assert [places(*layer).at(at) for at in (0, 1, 2)] == [5, 7, 8]
    edits = parse(raw).attempts[-1].edits
    assert apply(raw, layer.span, edits) == '{"a": "b\\n" }'


def test_a_key_behind_which_something_odd_stands_is_refused_and_not_dropped() -> None:
    trace = parse('{"a" ~ 1}')
    assert (trace.verdict, trace.values, trace.truncated) == ("failed", (), False)
    assert "stands where a colon belongs" in (trace.attempts[-1].reason or "")


def test_values_beyond_the_limit_are_not_read_and_the_rest_is_named() -> None:
    raw = '```json\n{"a": 1}\n```\n' * 5_000
    trace = parse(raw)
    last = trace.attempts[-1]
    assert trace.exhausted and 3_900 < len(trace.values) < 4_100
    assert (last.outcome, last.span.end) == ("rejected", len(raw))
    assert "not looked at" in (last.reason or "")

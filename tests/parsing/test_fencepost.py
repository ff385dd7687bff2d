"""The fencepost profile on the responses of the reports, and on what must not be taken for JSON."""

from __future__ import annotations

from webapp.parsing import parse


def test_prose_is_none_and_says_so() -> None:
    trace = parse("The capital of France is Paris.")
    assert (trace.verdict, trace.attempts[0].outcome, trace.values) == ("none", "failed", ())


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


def test_values_beyond_the_limit_are_not_read_and_the_rest_is_named() -> None:
    raw = '```json\n{"a": 1}\n```\n' * 5_000
    trace = parse(raw)
    last = trace.attempts[-1]
    assert trace.exhausted and 3_900 < len(trace.values) < 4_100
    assert (last.outcome, last.span.end) == ("rejected", len(raw))
    assert "not looked at" in (last.reason or "")

"""Report 000: its two samples, its seven edge cases, and what the shipped code does instead of what it says."""

from __future__ import annotations

import json

import pytest

from webapp.parsing import parse
from webapp.parsing.edit import Edit, apply
from webapp.parsing.span import Span

FIELDS = {"truth": 0.0, "indeterminacy": 0.1, "falsehood": 0.9, "reasoning": "Because", "patterns_observed": []}
PLAIN = json.dumps(FIELDS, indent=4)


def test_sample_text_before_the_fence():
    raw = f"Here's the JSON response evaluating the reciprocity violation in the prompt layer:\n\n```json\n{PLAIN}\n```"
    assert parse(raw, "fire-circle").values == (FIELDS,)
    assert parse(raw, "fire-circle").verdict == "extracted"
    assert parse(raw, "fire-circle-before").verdict == "failed"


def test_sample_extra_text_after_json():
    raw = f"{PLAIN}\n\nThe concept of recursion in programming refers to a function or method that calls itself..."
    trace = parse(raw, "fire-circle")
    assert trace.values == (FIELDS,)
    assert trace.attempts[0].span == Span(0, len(PLAIN))
    before = parse(raw, "fire-circle-before")
    assert before.attempts[0].error.message == "Extra data"


def test_double_braces_are_two_edits():
    raw = "{" + PLAIN + "}"
    attempt = parse(raw, "fire-circle").attempts[0]
    end = len(raw)
    assert attempt.edits == (
        Edit("double_brace", Span(0, 1), "{", ""),
        Edit("double_brace", Span(end - 1, end), "}", ""),
    )
    assert attempt.note == "{{ loses a brace; }} loses a brace"


def test_valid_json_that_ends_in_two_braces_is_broken():
    raw = '{"truth": 1, "indeterminacy": 0, "falsehood": 0, "reasoning": {"why": {"b": 1}}}'
    trace = parse(raw, "fire-circle-strict")
    assert trace.verdict == "failed"
    assert trace.attempts[0].edits == (Edit("double_brace", Span(len(raw) - 1, len(raw)), "}", ""),)
    assert parse(raw, "fire-circle-before").verdict == "clean"


def test_a_brace_in_a_string_cuts_the_object_short():
    raw = '{"reasoning": "a } in a string", "truth": 1, "indeterminacy": 0, "falsehood": 0}'
    attempt = parse(raw, "fire-circle-strict").attempts[0]
    assert attempt.span == Span(0, raw.index("}") + 1)
    assert attempt.error.message == "Unterminated string starting at"


@pytest.mark.parametrize("label", ["```json", "```python"])
def test_a_labelled_fence_that_is_not_closed_raises(label):
    raw = f"{label}\n{PLAIN}"
    attempt = parse(raw, "fire-circle-strict").attempts[0]
    assert (attempt.outcome, attempt.reason) == ("failed", "ValueError: substring not found")
    assert attempt.note == (
        f"no fence closes {label}; Unparseable response from {{model}}: ValueError: substring not found; "
        "raises, and the whole circle fails"
    )


def test_prose_before_unfenced_json_fails():
    assert parse(f"Sure: {PLAIN}", "fire-circle-strict").attempts[0].error.message == "Expecting value"


@pytest.mark.parametrize("field", ["truth", "indeterminacy", "falsehood", "reasoning"])
def test_each_field_is_required(field):
    raw = json.dumps({key: value for key, value in FIELDS.items() if key != field})
    attempt = parse(raw, "fire-circle-strict").attempts[0]
    assert attempt.reason == f"ValueError: Missing required field: {field}"


def test_an_array_is_no_evaluation():
    attempt = parse("[1]", "fire-circle-strict").attempts[0]
    assert attempt.reason == "ValueError: Missing required field: truth", "as the program looks for it in the list"
    reason = parse("7", "fire-circle-strict").attempts[0].reason or ""
    assert reason.startswith("TypeError: argument of type 'int' is not ")


@pytest.mark.parametrize(("truth", "error"), [("high", "ValueError: could not"), (None, "TypeError: float()")])
def test_a_number_must_be_one(truth: object, error: str) -> None:
    attempt = parse(json.dumps(FIELDS | {"truth": truth}), "fire-circle-strict").attempts[0]
    assert (attempt.outcome, (attempt.reason or "")[: len(error)]) == ("failed", error)


def test_resilient_greps_three_numbers():
    raw = "My view. truth: 0.7 and INDETERMINACY 0.2, then\nFalsehood:\t1."
    trace = parse(raw, "fire-circle")
    assert trace.values == ({"truth": 0.7, "indeterminacy": 0.2, "falsehood": 1.0},)
    failed, grepped = trace.attempts
    assert failed.note == (
        "Unparseable response from {model}: Expecting value: line 1 column 1 (char 0); "
        "attempting text extraction fallback"
    )
    assert (grepped.strategy, trace.verdict) == ("grep", "repaired")
    assert apply(raw, grepped.span, grepped.edits) == '{"truth": 0.7, "indeterminacy": 0.2, "falsehood": 1.0}'


def test_resilient_keeps_the_order_of_the_text():
    attempt = parse("falsehood 1 truth 2 indeterminacy 3", "fire-circle").attempts[-1]
    assert list(attempt.value.items()) == [("falsehood", 1), ("truth", 2), ("indeterminacy", 3)]


def test_quoted_fields_never_match_and_the_model_becomes_a_zombie():
    trace = parse('So: {"truth": 0.7, "indeterminacy": 0.2, "falsehood": 0.6}', "fire-circle")
    assert trace.verdict == "failed"
    assert trace.attempts[-1].strategy == "grep"
    assert trace.attempts[-1].reason == "no number follows truth, indeterminacy, falsehood"
    assert "zombie" in trace.attempts[-1].note


def test_a_number_with_two_dots_makes_a_zombie():
    trace = parse("truth 1.2.3 indeterminacy 1 falsehood 1", "fire-circle")
    assert trace.attempts[-1].reason == "ValueError: could not convert string to float: '1.2.3'"


@pytest.mark.parametrize(
    ("raw", "verdict"),
    [
        (PLAIN, "clean"),
        (f"```json\n{PLAIN}\n```", "extracted"),
        (f"```\n{PLAIN}```", "extracted"),
        ("``````", "failed"),
    ],
)
def test_before_strips_a_fence_that_is_all_there_is(raw, verdict):
    assert parse(raw, "fire-circle-before").verdict == verdict


def test_before_needs_both_ends():
    assert parse(f"```json\n{PLAIN}", "fire-circle-before").attempts[0].strategy == "whole"

"""The field reports' parsers: what no case file shows of them."""

from __future__ import annotations

import json

import pytest

from webapp.parsing import parse

FIELDS = {"truth": 0.0, "indeterminacy": 0.1, "falsehood": 0.9, "reasoning": "Because", "patterns_observed": []}


def test_an_array_is_no_evaluation() -> None:
    attempt = parse("[1]", "fire-circle-strict").attempts[0]
    assert attempt.reason == "ValueError: Missing required field: truth", "as the program looks for it in the list"
    reason = parse("7", "fire-circle-strict").attempts[0].reason or ""
    assert reason.startswith("TypeError: argument of type 'int' is not ")


@pytest.mark.parametrize(("truth", "error"), [("high", "ValueError: could not"), (None, "TypeError: float()")])
def test_a_number_must_be_one(truth: object, error: str) -> None:
    attempt = parse(json.dumps(FIELDS | {"truth": truth}), "fire-circle-strict").attempts[0]
    assert (attempt.outcome, (attempt.reason or "")[: len(error)]) == ("failed", error)

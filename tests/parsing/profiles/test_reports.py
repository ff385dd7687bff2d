"""The field reports' parsers: our linear patterns and scanners are theirs, and what no case file shows of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parsing.profiles.transcriptions import JS_WHITE, MASTER, fix_json
from webapp.parsing import parse
from webapp.parsing.edit import Span, apply
from webapp.parsing.profiles import four_tier, master, windlass
from webapp.parsing.profiles._steps import between

FENCE = re.compile(rf"```json{JS_WHITE}*([\s\S]*?){JS_WHITE}*```")
FIELDS = {"truth": 0.0, "indeterminacy": 0.1, "falsehood": 0.9, "reasoning": "Because", "patterns_observed": []}


def texts(*pieces: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=24).map("".join)


MARKUP = texts("```json", "```", "`", " ", "\n", "\ufeff", "\x85", "\u3000", "{", "}", '"', "\\", "\t", "\x0b", "a")


def test_an_array_is_no_evaluation() -> None:
    attempt = parse("[1]", "fire-circle-strict").attempts[0]
    assert attempt.reason == "ValueError: Missing required field: truth", "as the program looks for it in the list"
    reason = parse("7", "fire-circle-strict").attempts[0].reason or ""
    assert reason.startswith("TypeError: argument of type 'int' is not ")


@pytest.mark.parametrize(("truth", "error"), [("high", "ValueError: could not"), (None, "TypeError: float()")])
def test_a_number_must_be_one(truth: object, error: str) -> None:
    attempt = parse(json.dumps(FIELDS | {"truth": truth}), "fire-circle-strict").attempts[0]
    assert (attempt.outcome, (attempt.reason or "")[: len(error)]) == ("failed", error)


def test_a_backslash_outside_a_string_desynchronises_fix_json() -> None:
    raw = '{\\"a": "x\ny"}'
    assert four_tier.fix_json(raw, Span(0, len(raw))) == []


@pytest.mark.parametrize("char", [chr(point) for point in range(0x3001) if chr(point).isspace()] + ["\ufeff"])
def test_white_space_is_javascript_s(char: str) -> None:
    same(four_tier.first_fence, FENCE, f"```json{char}1{char}```")


def same(ours: Callable[[str], Span | None], pattern: re.Pattern[str], text: str) -> None:
    """What we find first is what the report's pattern captures first."""
    match, span = pattern.search(text), ours(text)
    assert (span and tuple(span)) == (match and match.span(pattern.groups))


@given(MARKUP)
def test_scanners_equal_the_patterns_of_the_report(text: str) -> None:
    same(four_tier.first_fence, FENCE, text)
    same(lambda raw: between(raw, "{", "}"), re.compile(r"\{[\s\S]*\}"), text)
    whole = Span(0, len(text))
    assert apply(text, whole, four_tier.fix_json(text, whole)) == fix_json(text)


PATTERNS = [
    (master.FENCES[0][1], MASTER),
    (master.FENCES[1][1], MASTER.replace("json", "")),
    (windlass.BRACES, r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"),
]


@settings(max_examples=500)
@given(texts("```json", "```", "{", "{", "}", "}", " ", "\n", "a"))
def test_possessive_patterns_equal_those_of_the_reports(text: str) -> None:
    for ours, theirs in PATTERNS:
        found = [match.span(match.re.groups) for match in ours.finditer(text)]
        assert found == [match.span(match.re.groups) for match in re.finditer(theirs, text, re.DOTALL)]

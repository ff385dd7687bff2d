"""Report 003: its three patterns, its log lines, and where its one `try` ends everything."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parsing.profiles.transcriptions import JS_WHITE, fix_json
from webapp.parsing import parse
from webapp.parsing.edit import apply
from webapp.parsing.profiles import four_tier
from webapp.parsing.profiles._steps import between
from webapp.parsing.span import Span

MARKUP = st.lists(
    st.sampled_from(
        ["```json", "```", "`", " ", "\n", "\ufeff", "\x85", "\u3000", "{", "}", '"', "\\", "\t", "\x0b", "a"]
    )
).map("".join)


def steps(raw: str) -> list[tuple[str, str, str]]:
    trace = parse(raw, "four-tier")
    return [(attempt.strategy, attempt.outcome, attempt.note) for attempt in trace.attempts]


def test_a_backslash_outside_a_string_desynchronises_fix_json():
    raw = '{\\"a": "x\ny"}'
    assert four_tier.fix_json(raw, Span(0, len(raw))) == []


@given(MARKUP)
def test_the_fence_scanner_equals_the_lazy_pattern(text):
    match = re.search(rf"```json{JS_WHITE}*([\s\S]*?){JS_WHITE}*```", text)
    span = four_tier.first_fence(text)
    assert (span and tuple(span)) == (match and match.span(1))


@pytest.mark.parametrize("char", [chr(point) for point in range(0x3001) if chr(point).isspace()] + ["\ufeff"])
def test_white_space_is_javascript_s(char):
    text = f"```json{char}1{char}```"
    assert four_tier.first_fence(text) == re.search(rf"```json{JS_WHITE}*([\s\S]*?){JS_WHITE}*```", text).span(1)


@given(MARKUP)
def test_outermost_equals_the_greedy_pattern(text):
    match = re.search(r"\{[\s\S]*\}", text)
    span = between(text, "{", "}")
    assert (span and tuple(span)) == (match and match.span())


@given(MARKUP)
def test_the_edits_of_fix_json_are_fix_json(text):
    whole = Span(0, len(text))
    assert apply(text, whole, four_tier.fix_json(text, whole)) == fix_json(text)

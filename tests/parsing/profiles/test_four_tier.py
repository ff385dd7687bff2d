"""Report 003: its three patterns, its log lines, and where its one `try` ends everything."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parsing.profiles.transcriptions import JS_WHITE, fix_json
from webapp.parsing import parse
from webapp.parsing.edit import Edit, apply
from webapp.parsing.profiles import four_tier
from webapp.parsing.profiles._cutting import between
from webapp.parsing.span import Span

MARKUP = st.lists(
    st.sampled_from(
        ["```json", "```", "`", " ", "\n", "\ufeff", "\x85", "\u3000", "{", "}", '"', "\\", "\t", "\x0b", "a"]
    )
).map("".join)


def steps(raw: str) -> list[tuple[str, str, str]]:
    trace = parse(raw, "four-tier")
    return [(attempt.strategy, attempt.outcome, attempt.note) for attempt in trace.attempts]


def test_direct_parse_is_silent():
    assert steps('{"status": "PASS"}') == [("1", "accepted", "Strategy 1: Direct parse")]
    assert parse('{"status": "PASS"}', "four-tier").verdict == "clean"


def test_multi_line_strings():
    raw = '{\n  "action_required": "Step 1: Do this\nStep 2: Do that"\n}'
    trace = parse(raw, "four-tier")
    assert trace.values == ({"action_required": "Step 1: Do this\nStep 2: Do that"},)
    assert trace.attempts[-1].note.endswith("using Strategy 3b: Extract JSON object + fix control chars")
    at = raw.index("\nStep 2")
    assert trace.attempts[-1].edits == (Edit("control_character", Span(at, at + 1), "\n", "\\n"),)


def test_markdown_wrapped():
    raw = 'Here\'s my evaluation:\n```json\n{"status": "PASS"}\n```\n'
    assert parse(raw, "four-tier").values == ({"status": "PASS"},)
    first, second = steps(raw)
    assert first == (
        "1",
        "failed",
        "Strategy 1: Direct parse. Failed to parse JSON directly for {operation}, trying fallback strategies...",
    )
    assert second[2] == "✓ Successfully parsed {operation} using Strategy 2: Extract from markdown code block"


def test_extra_explanation():
    raw = 'I\'ll evaluate this criterion now.\n{"status": "FAIL", "score": 2}\nLet me know if you need clarification.\n'
    trace = parse(raw, "four-tier")
    assert (trace.verdict, trace.values) == ("extracted", ({"status": "FAIL", "score": 2},))
    assert steps(raw)[-1][2] == "✓ Successfully parsed {operation} using Strategy 3: Extract JSON object"


def test_where_2b_fails_3_and_4_are_never_reached():
    raw = '```json\n{"a": }\n```\n{"b": 1}'
    trace = parse(raw, "four-tier")
    assert [attempt.strategy for attempt in trace.attempts] == ["1", "2", "2b"]
    assert trace.verdict == "failed"
    assert "All JSON parsing strategies failed for {operation}" in trace.attempts[-1].note
    assert trace.attempts[-1].error.said == "Expecting value: line 1 column 7 (char 6)"


def test_where_3b_fails_4_is_never_reached():
    assert [step[0] for step in steps('["x\ny", {]}')] == ["1", "3", "3b"]


def test_4_is_reached_without_braces():
    trace = parse('["x\ny"]', "four-tier")
    assert trace.values == (["x\ny"],)
    assert trace.attempts[-1].note.endswith("using Strategy 4: Fix control chars in entire content")
    assert [step[0] for step in steps("no JSON")] == ["1", "4"]


def test_the_lazy_fence_ends_inside_a_string():
    assert parse('```json\n{"code": "```sh```"}\n```', "four-tier").verdict == "failed"


def test_an_empty_fence_is_passed_over():
    trace = parse('```json\n```\n{"a": 1}', "four-tier")
    assert trace.values == ({"a": 1},)
    assert trace.attempts[1].outcome == "rejected"


def test_a_backslash_outside_a_string_desynchronises_fix_json():
    raw = '{\\"a": "x\ny"}'
    assert four_tier.fix_json(raw, Span(0, len(raw))) == []


def test_other_control_characters_stay():
    assert parse('{"a": "x\x0by"}', "four-tier").verdict == "failed"


@pytest.mark.parametrize("raw", ['{"a": NaN}', '{"a": -Infinity, "b": "NaN"}'])
def test_json_parse_refuses_constants(raw):
    trace = parse(raw, "four-tier")
    assert trace.verdict == "failed"
    assert trace.attempts[0].error.said == "Expecting value: line 1 column 7 (char 6)"


def test_constants_in_strings_are_text():
    assert parse('{"a": "NaN, Infinity"}', "four-tier").values == ({"a": "NaN, Infinity"},)


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

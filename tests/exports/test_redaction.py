"""Redaction hides what it should, marks it, and leaves every span, every edit and every test as it was."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exports import made
from webapp import text_patterns
from webapp.exports import redaction
from webapp.exports.base import expected_values
from webapp.exports.session import redacted
from webapp.installation import MissingLibrary
from webapp.parsing import parse
from webapp.parsing.edit import Edit, Span, apply
from webapp.text_patterns import BadPattern

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["code", "a", "b"]), inner, max_size=3),
    max_leaves=8,
)


def test_values_under_a_key_and_matches_of_a_pattern_are_masked_in_place() -> None:
    hide = made.redactor(["code"], [r"\d{3}-\d{4}"])
    text = 'call 555-1234: {"code": "a\\nb", "other": "c"'
    assert hide.text(text) == 'call ████████: {"code": "█\\n█", "other": "c"'
    assert [span.rule for span in hide.spans(text)] == ["pattern \\d{3}-\\d{4}", "key code"]


@given(JSON, st.booleans())
def test_a_masked_text_decodes_to_the_masked_value(value: Any, ascii_only: bool) -> None:
    hide = made.redactor(["code"])
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert len(hide.text(text)) == len(text)
    assert json.loads(hide.text(text)) == hide.value(value)


def test_a_redacted_response_still_reads_as_its_redacted_value() -> None:
    hide = made.redactor(["code"])
    response = hide.response(made.labelled(made.BROKEN, made.said(made.MEANT)))
    assert list(parse(response.raw).values) == expected_values(response.final)
    assert "x" not in response.raw.split("code")[2] and [mark.rule for mark in response.redactions] == ["key code"]


def test_names_in_a_labels_history_stay_and_those_of_its_value_do_not() -> None:
    hide = made.redactor(patterns=["[a-z]+"])
    event = {"action": "put", "said": {"expected": {"secret": 1}, "note": "mine", "was": None}}
    hidden = hide.statement(replace(made.said(made.MEANT), history=(event,)))
    assert hidden.history == ({"action": "███", "said": {"expected": {"██████": 1}, "note": "████", "was": None}},)


def test_the_spans_and_edits_of_a_redacted_session_stay_valid() -> None:
    hide = made.redactor(["code"])
    (turn,) = redacted(made.session(made.turn(made.BROKEN)), hide).turns
    for attempt in turn.fencepost["attempts"]:
        edits = [Edit(e["repair"], Span(*e["span"]), e["old"], e["new"]) for e in attempt["edits"]]
        assert all(turn.raw[edit.span.start : edit.span.end] == edit.old for edit in edits)
        if attempt["outcome"] == "accepted":
            assert json.loads(apply(turn.raw, Span(*attempt["span"]), edits)) == turn.fencepost["values"][0]


def test_nothing_to_hide_is_no_redactor() -> None:
    assert redaction.redactor() is None


def without_secrets(text: str) -> str:
    """What the rules for secrets leave, which see a window of the text at a time."""
    return made.redactor(secrets=True).text(text)


@pytest.mark.parametrize("before", [0, 1, 500, 511, 512, 1000, 1023, 1500])
def test_a_key_is_found_wherever_it_stands(before: int) -> None:
    assert without_secrets("-" * before + "AKIAIOSFODNN7EXAMPLE.") == "-" * before + "█" * 20 + "."


@pytest.mark.parametrize("before", [0, 300, 511, 700])
def test_a_token_longer_than_a_window_is_hidden_whole(before: int) -> None:
    token = "eyJ" + "a" * 50 + "." + "b" * 5 * redaction.WINDOW
    assert without_secrets("-" * before + " " + token + " end") == "-" * before + " " + "█" * len(token) + " end"


def test_what_only_the_windows_end_makes_a_match_is_none() -> None:
    text = "x glptt-" + "a" * 40
    assert "█" in without_secrets(text)
    padded = "-" * (redaction.WINDOW - 48) + " glptt-" + "a" * 41  # a window ends after forty
    assert "█" not in without_secrets(padded)


def hidden(text: str, *patterns: str) -> str:
    return made.redactor(patterns=patterns).text(text)


def test_a_pattern_counts_in_code_points_and_over_lone_surrogates() -> None:
    assert hidden("é\ud800🙂 555-1234 ü", r"\d{3}-\d{4}") == "é\ud800🙂 ████████ ü"


def test_what_takes_too_long_hides_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_patterns, "SECONDS", 0.0)
    monkeypatch.setattr(text_patterns, "CHARACTERS_A_SECOND", 1e12)
    find = text_patterns.TextPattern("x(?:.*y)?")
    *_, (start, end, rule) = find("x" * 50_000)
    assert end == 50_000 and "took too long" in rule and start < end


def test_time_in_which_others_have_the_processor_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine as much is hidden as on an idle one."""
    monkeypatch.setattr(text_patterns, "SECONDS", 0.2)
    found = []
    for start, end, _ in text_patterns.TextPattern(r"\d")("a1 b2 c3"):
        found.append((start, end))
        time.sleep(0.3)
    assert found == [(1, 2), (4, 5), (7, 8)]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "not a regular expression of RE2: missing"),
        ("a(?=b)", "not a regular expression of RE2"),
        ("x.{900}", "too large"),
        ("a" * 1001, "1,000 characters"),
        ("(\ud800)", "not a regular expression"),
    ],
)
def test_a_pattern_that_is_refused(pattern: str, words: str) -> None:
    with pytest.raises(BadPattern, match=words):
        redaction.redactor(patterns=[pattern])


def test_too_many_patterns_are_refused() -> None:
    with pytest.raises(BadPattern, match="20 patterns"):
        redaction.redactor(patterns=["a"] * 21)


def test_without_the_library_text_is_literal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    assert hidden("the a.b key, not axb", r"a\.b") == "the ███ key, not axb"
    with pytest.raises(MissingLibrary, match="google-re2"):
        redaction.redactor(patterns=["a.b"])

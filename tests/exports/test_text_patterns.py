"""Patterns of people: RE2's where it is there, literal text without it; none of them takes long."""

from __future__ import annotations

import sys
import time

import pytest

from tests.exports import made
from webapp import text_patterns
from webapp.exports import redaction
from webapp.installation import MissingLibrary
from webapp.text_patterns import BadPattern


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

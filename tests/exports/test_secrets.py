"""The secret rules see a window of the text at a time, and still hide what is longer than it whole."""

from __future__ import annotations

import pytest

from webapp.exports import redaction


def hidden(text: str) -> str:
    hide = redaction.redactor(secrets=True)
    assert hide is not None
    return hide.text(text)


@pytest.mark.parametrize("before", [0, 1, 500, 511, 512, 1000, 1023, 1500])
def test_a_key_is_found_wherever_it_stands(before: int) -> None:
    assert hidden("-" * before + "AKIAIOSFODNN7EXAMPLE.") == "-" * before + "█" * 20 + "."


@pytest.mark.parametrize("before", [0, 300, 511, 700])
def test_a_token_longer_than_a_window_is_hidden_whole(before: int) -> None:
    token = "eyJ" + "a" * 50 + "." + "b" * 5 * redaction.WINDOW
    assert hidden("-" * before + " " + token + " end") == "-" * before + " " + "█" * len(token) + " end"


def test_what_only_the_windows_end_makes_a_match_is_none() -> None:
    text = "x glptt-" + "a" * 40
    assert "█" in hidden(text)
    padded = "-" * (redaction.WINDOW - 48) + " glptt-" + "a" * 41  # a window ends after forty
    assert "█" not in hidden(padded)

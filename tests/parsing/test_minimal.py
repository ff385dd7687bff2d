"""The smallest reproduction: its cases, and what is true of every one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webapp.parsing import minimal

PARTS = (Path(__file__).parent / "minimal" / "cases.md").read_text("utf-8").split("\n.\n")
CASES = list(zip(PARTS[::3], PARTS[1::3], PARTS[2::3], strict=False))
PIECES = ['{"a": ', "[1,", "}", "]", '"x"', ",", "'", "```json\n", "\n```", "True", "Here: ", "\ud800", "\0", '"b": 2']
BROKEN = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@pytest.mark.parametrize(("profile", "raw", "cut"), CASES)
def test_the_cases(profile: str, raw: str, cut: str) -> None:
    result = minimal.of_profile(raw, profile)
    assert (result.text, result.same, result.exhausted) == (cut, True, False)
    assert "no character can be left out" in minimal.sentence(result, len(raw), profile)


@settings(max_examples=50, deadline=None)
@given(BROKEN)
def test_a_cut_fails_the_same_way_and_no_character_of_it_can_go(raw: str) -> None:
    result, way = minimal.of_profile(raw, "direct"), minimal.way_of_failing(raw, "direct")
    assert result.same == (way is not None) and not result.exhausted
    assert result == minimal.of_profile(raw, "direct")
    if not result.same:
        assert result.text == raw
        return
    assert minimal.way_of_failing(result.text, "direct") == way
    shorter = [result.text[:at] + result.text[at + 1 :] for at in range(len(result.text))]
    assert all(minimal.way_of_failing(text, "direct") != way for text in shorter)


def test_a_cut_keeps_the_order_of_the_text() -> None:
    cut = minimal.reproduce("one (two) three (four", lambda text: text.count("(") > text.count(")"))
    assert (cut.text, cut.same) == ("(", True)
    letters = iter("a1b2c3")
    assert all(
        letter in letters for letter in minimal.reproduce("a1b2c3", lambda text: "a" in text and "3" in text).text
    )


@pytest.mark.parametrize("raw", ["", "\0" * 50, "[" * 3_000, "\ud800{\udfff" * 200, '{"a":' * 500 + "]"])
def test_hostile_text_never_raises_and_the_budget_is_said(raw: str) -> None:
    result = minimal.of_profile(raw, "direct", 20_000)
    assert result.exhausted == ("the budget ended" in minimal.sentence(result, len(raw), "direct"))


def test_a_budget_too_small_for_one_test_leaves_the_text_and_says_that_nothing_was_tried() -> None:
    result = minimal.of_profile("{'a': 1}", "direct", 3)
    assert result == minimal.Reproduction("{'a': 1}", None, True, 0)
    assert "nothing was tried" in minimal.sentence(result, 8, "direct")

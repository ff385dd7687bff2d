"""Where decoded texts stand in the response: exactly, or said not to be found."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.capture.alignment import WorkBudget, apply, follow
from webapp.capture.locate import Located, locate
from webapp.capture.process import DecoderCall, ParserFailure

FAILED = ParserFailure("JSONDecodeError", "Extra data", "Extra data: line 1 column 9 (char 8)", 8)


def ok(text: str, value: object = None) -> DecoderCall:
    return DecoderCall("json", text, True, value)


def failed(text: str) -> DecoderCall:
    return DecoderCall("json", text, False, error=FAILED)


SURPLUS = 'Sure: {"a": 1}}}\n'
LACKING, EARLY = '{"a": {"b": {}}, "c": {"d": 1}}', '{"a": {"b": 1}}'


@pytest.mark.parametrize(
    ("raw", "calls", "places"),
    [
        ("[1]", [ok("[1]")], [("whole", (0, 3), ())]),
        ("x [1] y", [ok("[1]")], [("exact", (2, 5), ())]),
        ("[1] or [1]", [ok("[1]")], [("ambiguous", (0, 3), ())]),
        (
            SURPLUS,
            [failed('{"a": 1}}}\n'), ok('{"a": 1}')],
            [("exact", (6, 17), ()), ("edited", (6, 16), ((14, 16, ""),))],
        ),
        (LACKING, [failed(LACKING[:-1])], [("edited", (0, len(LACKING)), ((len(LACKING) - 1, len(LACKING), ""),))]),
        (EARLY, [failed(EARLY[:-1])], [("exact", (0, len(EARLY) - 1), ())]),
        ('[{"a": "{"}]', [ok('{"a": "{"}')], [("exact", (1, 11), ())]),
        ("only prose here", [ok('{"completely": "different", "text": [1, 2, 3]}')], [("unlocated", None, ())]),
    ],
    ids=["whole", "once", "twice", "surplus closers", "cut-off closer", "stops early", "bracket in text", "nowhere"],
)
def test_a_text_is_where_it_stands(raw: str, calls: list[DecoderCall], places: list[object]) -> None:
    assert [(found.how, found.span, found.edits) for found in locate(raw, calls)] == places


def test_a_repair_is_aligned_with_the_attempt_before_it() -> None:
    raw = "say {'a': 1, 'b': 'x'} now"
    first, second = locate(raw, [failed("{'a': 1, 'b': 'x'}"), ok('{"a": 1, "b": "x"}')])
    assert (first.how, second.how, second.span) == ("exact", "edited", (4, 22))
    assert [raw[start:end] + new for start, end, new in second.edits] == ["'\""] * 6


def test_text_made_of_an_earlier_value_is_derived_from_it() -> None:
    raw = '{"arguments": "{\\"a\\": 1}"}'
    first, second = locate(
        raw, [ok(raw, {"arguments": '{"a": 1}'}), ok(json.dumps({"arguments": '{"a": 1}'}).replace(" ", "  "))]
    )
    assert first.how == "whole"
    written = ok('{"b": 2}')
    found = locate("nothing of it", [ok("[]", {"b": 2}), written])
    assert (found[1].how, found[1].source) == ("derived", 0)
    assert second.how in ("edited", "unlocated")


PIECES = st.lists(
    st.sampled_from(['{"a": 1}', "{'b': 2}", "[1, 2,]", " prose ", "}}", "\n", '"', "é", "```json\n"]), max_size=12
)


@given(PIECES.map("".join), PIECES.map("".join), st.booleans())
def test_a_place_gives_exactly_the_text(raw: str, text: str, fails: bool) -> None:
    for found in locate(raw, [failed(raw[2:]) if fails else ok(raw[2:]), ok(text)]):
        exact(raw, found)


def exact(raw: str, found: Located) -> None:
    if found.how in ("derived", "unlocated"):
        return
    assert found.span is not None
    at = found.span[0]
    for start, end, _ in found.edits:
        assert at <= start <= end <= found.span[1]
        at = end
    assert apply(raw, found.span, found.edits) == found.call.text


def test_an_alignment_costs_no_more_than_its_budget() -> None:
    raw, text = "abcdefgh" * 5_000, "hgfedcba" * 5_000
    budget = WorkBudget()
    while budget.left > 0:
        _, edits, cost = follow(raw, 0, text, 0, len(raw), budget)
        assert cost >= len(text) // 2
        assert apply(raw, (0, edits[-1][1]), edits) == text
    (found,) = locate(raw, [ok(text)])
    assert found.how == "unlocated"


def test_all_texts_of_a_response_share_a_budget_and_what_is_left_out_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.capture.locate.WORK_IN_ALL", 20_000)
    raw, texts = "abcdefgh" * 5_000, ["hgfedcba" * 2_000 + str(number) for number in range(40)]
    found = locate(raw, [ok(text) for text in texts] + [ok(raw)])
    assert all(place.how == "unlocated" for place in found[:-1])
    assert found[-2].exhausted and found[-1].how == "whole"

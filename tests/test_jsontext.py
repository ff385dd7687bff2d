"""Numbers that JSON has not go out as marked texts and come back as they were."""

from __future__ import annotations

import json
import math

import pytest

from webapp import jsontext


@pytest.mark.parametrize(
    "value",
    [1.5, [float("inf")], {"a": [float("-inf"), {"b": None}]}, {jsontext.MARK: "NaN"}, {f"${jsontext.MARK}": 1}],
)
def test_a_marked_value_comes_back(value: object) -> None:
    text = jsontext.portable(value)
    assert jsontext.unmarked(json.loads(text, parse_constant=pytest.fail)) == value


def test_nan_comes_back() -> None:
    assert jsontext.portable([float("nan")]) == '[{"$fencepost:float":"NaN"}]'
    assert math.isnan(jsontext.unmarked(jsontext.loads(jsontext.portable(float("nan")))))


def test_what_looks_like_a_mark_and_is_none_stays() -> None:
    assert jsontext.unmarked({jsontext.MARK: "three"}) == {jsontext.MARK: "three"}

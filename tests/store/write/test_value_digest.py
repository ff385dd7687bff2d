"""Digests of values: the same for the same JSON, and for nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.store.labels.label_content import same_as
from webapp.store.write.rows import canonical, value_digest

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("one", "other"), [([1], [1.0]), ([{"a": 1, "b": 2}], [{"b": 2, "a": 1.0}]), ([-0.0], [0]), ([1e3], [1000])]
)
def test_same(one: list[Any], other: list[Any]) -> None:
    assert value_digest(one) == value_digest(other) is not None


@pytest.mark.parametrize(("one", "other"), [([1], [True]), ([1], ["1"]), ([1, 2], [[1, 2]]), ([], [None]), ([0], [""])])
def test_different(one: list[Any], other: list[Any]) -> None:
    assert value_digest(one) != value_digest(other)


@given(values)
def test_it_is_a_signed_number_of_64_bits(value: Any) -> None:
    digest = value_digest([value])
    assert digest is not None and -(2**63) <= digest < 2**63
    assert digest == value_digest(json.loads(json.dumps([value])))
    assert canonical([value]) == same_as([value])


def test_what_is_too_deep_has_none() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert value_digest(value) is None

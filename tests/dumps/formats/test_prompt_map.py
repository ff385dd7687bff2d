"""Prompt to response maps: a pair is a prompt and a response."""

from __future__ import annotations

import json

import pytest

from webapp.dumps.records import UnknownFormat


def test_a_pair_that_is_none_is_a_problem(got):
    pairs = {"Write the code": "a", "Write the test": None, "Write it all": "c"}
    found = got(json.dumps(pairs), "x.json", "prompt_map")
    assert (len(found.only), [problem.at for problem in found.problems]) == (4, ["pair 1"])


@pytest.mark.parametrize("value", [{"a": "b"}, {"a b": 3}, {"a b": "c", "d": "e", "f": "g"}, {"a b": "c", "d e": []}])
def test_what_is_no_map(got, value):
    with pytest.raises(UnknownFormat):
        got(json.dumps(value))

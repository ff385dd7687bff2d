"""Policies: each one changes what it names, and is named in the trace."""

from __future__ import annotations

import pytest

from webapp.parsing import Trace, parse
from webapp.parsing.profiles.fencepost import Fencepost, Policies


def under(raw: str, **policies: object) -> Trace:
    return parse(raw, Fencepost(policies=Policies(**policies)))


def test_policies_are_named_in_the_trace() -> None:
    assert parse("{}").policy == {
        "roots": "all",
        "missing": "null",
        "duplicates": "last",
        "truncated": "keep",
        "scalars": "accept",
        "wanted": "",
    }
    assert under("{}", wanted=("tool", "name")).policy["wanted"] == "tool, name"


@pytest.mark.parametrize(
    ("roots", "values"),
    [
        ("all", [{"a": 1}, {"tool": 1}, {"c": 1}]),
        ("first", [{"a": 1}]),
        ("last", [{"c": 1}]),
        ("best", [{"tool": 1}]),
    ],
)
def test_roots(roots: str, values: list[object]) -> None:
    trace = under('One {"a": 1}, two {"tool": 1}, three {"c": 1}.', roots=roots, wanted=("tool",))
    assert list(trace.values) == values
    assert trace.ambiguous
    assert sum(attempt.ok for attempt in trace.attempts) == 3


def test_missing_values_are_null_or_dropped() -> None:
    raw = '{"a": 1, "b": , "c": 2}'
    assert under(raw).values == ({"a": 1, "b": None, "c": 2},)
    assert under(raw, missing="drop").values == ({"a": 1, "c": 2},)
    assert under('{"a": }', missing="drop").values == ({},)
    assert under('{"a": 1, "b":', missing="drop").values == ({"a": 1},)


def test_equal_keys() -> None:
    raw = '{"a": 1, "b": {"a": 2}, "a": 3}'
    assert under(raw).values == ({"a": 3, "b": {"a": 2}},)
    assert under(raw, duplicates="first").values == ({"a": 1, "b": {"a": 2}},)
    refused = under(raw, duplicates="error")
    assert (refused.verdict, refused.values) == ("failed", ())
    assert under('{"a": 1, "b": 2}', duplicates="error").verdict == "clean"


def test_what_was_cut_is_kept_or_refused() -> None:
    raw = '{"tool": "t", "arguments": {"code": "pri'
    assert under(raw).truncated and under(raw).values
    refused = under(raw, truncated="refuse")
    assert (refused.verdict, refused.values, refused.truncated) == ("failed", (), True)


def test_bare_scalars() -> None:
    assert under("42").verdict == "clean"
    ignored = under("42", scalars="ignore")
    assert (ignored.verdict, ignored.attempts[0].outcome) == ("none", "rejected")

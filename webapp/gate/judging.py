"""Compares what a profile reads with what people say was meant: right, silently wrong, missed, spurious, nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from webapp.jsontext import same_as
from webapp.parsing import Profile, Trace

OUTCOMES = {
    "right": "the values that were meant",
    "wrong": "silently wrong: a value, but not the one that was meant",
    "missed": "JSON was meant and no value came out",
    "spurious": "no JSON was meant and a value came out",
    "nothing": "correct: no JSON was meant and none was read",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one response under one profile; `policy` names the policy by which other values are right."""

    outcome: str
    policy: str | None = None


def judge(trace: Trace, meant: Sequence[Any], roots: str = "all") -> Judged:
    """Compare `trace.values` with the values `meant`, in order: see `judge_values`."""
    return judge_values(trace.values, meant, roots, drops=trace.policy.get("missing") == "drop")


def judge_values(
    read_values: Sequence[Any], meant: Sequence[Any], roots: str = "all", *, drops: bool = False
) -> Judged:
    """Compare the values that a profile gave with those that were meant, in order; [] says that no JSON is meant.

    With `drops` it leaves missing values out by its policy. A profile that gives another selection of several values by
    its policy is right where it gives that selection: `roots` is all, tools (only objects with "tool"), first, last,
    best (any one of them) or list (one list of them).
    """
    values = list(read_values)
    if not meant:
        return Judged("spurious" if values else "nothing")
    if values and same_as(values) == same_as(meant):
        return Judged("right")
    if by_policy := _by_roots(values, meant, roots):
        return by_policy
    if not values:
        return Judged("missed")
    if drops and same_as(_without_nulls(values)) == same_as(_without_nulls(meant)):
        return Judged("right", "missing values are dropped")
    return Judged("wrong")


def roots_of(profile: Profile) -> str:
    """Which of several values a profile gives: its attribute `roots`, or its policy of that name, else all."""
    policies = getattr(profile, "policies", None)
    return str(getattr(profile, "roots", None) or getattr(policies, "roots", "all"))


def _by_roots(values: list[Any], meant: Sequence[Any], roots: str) -> Judged | None:
    if roots == "tools":
        calls = [value for value in meant if isinstance(value, dict) and "tool" in value]
        if len(calls) < len(meant) and same_as(values) == same_as(calls):
            return Judged("right" if calls else "nothing", "only tool calls are read")
        return None
    if len(meant) < 2 or not values:
        return None
    by_roots = {"first": [meant[0]], "last": [meant[-1]], "list": [list(meant)]}.get(roots)
    if by_roots is not None and same_as(values) == same_as(by_roots):
        return Judged("right", f"of several values {'a list' if roots == 'list' else f'the {roots}'} is given")
    if roots == "best" and any(same_as(values) == same_as([value]) for value in meant):
        return Judged("right", "of several values the best is given")
    return None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value

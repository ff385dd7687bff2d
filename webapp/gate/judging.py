"""Compares what a profile reads with what was meant: right, silently wrong, missed; and where two values differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from webapp.jsontext import same_as
from webapp.parsing import Profile

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


def judge(read_values: Sequence[Any], meant: Sequence[Any], roots: str = "all") -> Judged:
    """Compare the values that a profile gave with those that were meant, in order; [] says that no JSON is meant.

    A profile that gives another selection of several values by its policy is right where it gives that selection:
    `roots` is all, tools (only objects with "tool"), first, last, best (any one of them) or list (one list of them).
    """
    values = list(read_values)
    if not meant:
        return Judged("spurious" if values else "nothing")
    if values and same_as(values) == same_as(meant):
        return Judged("right")
    if by_policy := _by_roots(values, meant, roots):
        return by_policy
    return Judged("wrong" if values else "missed")


def roots_of(profile: Profile) -> str:
    """Which of several values a profile gives: its attribute `roots`, else all."""
    return str(getattr(profile, "roots", None) or "all")


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


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MISSING = object()
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """`path` leads to the first place where two values differ; `at` is the character, where both are texts there.
    `missing` says on which side there is nothing at all: "a", "b" or None."""

    path: Path
    a: Any
    b: Any
    at: int | None = None
    missing: str | None = None

    @property
    def where(self) -> str:
        """In words: `at .arguments.code, character 12`."""
        place = f"at {path_text(self.path)}" if self.path else "at the top"
        return place + (f", character {self.at + 1:,}" if self.at is not None else "")


def path_text(path: Sequence[str | int]) -> str:
    """`[0].tool`, `["a key"][2]`."""
    return "".join(f"[{step}]" if isinstance(step, int) else _key(step) for step in path)


def _key(name: str) -> str:
    return f".{name}" if _NAME.fullmatch(name) else f"[{name!r}]"


def first(a: Sequence[Any], b: Sequence[Any]) -> Difference | None:
    """The first difference of two lists of values, keys in the order of `a`; None where they are the same JSON."""
    stack: list[tuple[Path, Any, Any]] = [((), list(a), list(b))]
    while stack:
        path, before, after = stack.pop()
        if before is _MISSING or after is _MISSING:
            side = "a" if before is _MISSING else "b"
            values = (None if before is _MISSING else before, None if after is _MISSING else after)
            return Difference(path, *values, missing=side)
        if isinstance(before, list | tuple) and isinstance(after, list | tuple):
            stack.extend(reversed(list(_items(path, before, after))))
        elif isinstance(before, dict) and isinstance(after, dict):
            stack.extend(reversed(list(_members(path, before, after))))
        elif not _same(before, after):
            return Difference(path, before, after, _character(before, after))
    return None


def _items(path: Path, before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[Path, Any, Any]]:
    for index, items in enumerate(zip_longest(before, after, fillvalue=_MISSING)):
        yield (*path, index), *items


def _members(path: Path, before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[Path, Any, Any]]:
    for key in dict.fromkeys((*before, *after)):
        yield (*path, key), before.get(key, _MISSING), after.get(key, _MISSING)


def _same(before: Any, after: Any) -> bool:
    """As JSON has it: 1 is 1.0, true is not 1; NaN is itself."""
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    return bool(before == after or (before != before and after != after))


def _character(before: Any, after: Any) -> int | None:
    if not isinstance(before, str) or not isinstance(after, str):
        return None
    shorter = min(len(before), len(after))
    return next((at for at in range(shorter) if before[at] != after[at]), shorter)

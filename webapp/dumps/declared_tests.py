"""Paths and tests of declared formats: `a.b|c` takes the first that is there; `a`, `!a`, `a=x|y`, `a:text` test."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from webapp.dumps.json_path import JsonPath, parse_path, value_at

Test = Callable[[Any], bool]
_TYPES: dict[str, type | tuple[type, ...]] = {
    "text": str,
    "list": list,
    "object": dict,
    "number": (int, float),
    "true": bool,
}
_SIGNS: dict[str, Callable[[Any, list[str]], bool]] = {
    "~": lambda value, words: str(value).startswith(tuple(words)),
    "*": lambda value, words: any(word in str(value) for word in words),
    "=": lambda value, words: str(value) in words,
    ":": lambda value, words: any(isinstance(value, _TYPES[word]) for word in words),
}
"""begins with, holds, is, is of the type"""


@lru_cache(maxsize=4096)
def _paths(path: str) -> tuple[JsonPath, ...]:
    return tuple(() if step in (".", "$") else parse_path(step) for step in path.split("|"))


def at(value: Any, path: str | None) -> tuple[Any, JsonPath | None]:
    """What stands at the first of the paths that leads to something, and where that is; (None, None) for none."""
    for steps in _paths(path) if path else ():
        inner, place = value_at(value, steps)
        if inner is not None:
            return inner, place
    return None, None


def holds(value: Any, tests: str | None) -> bool:
    """Whether all of the tests, which a space parts, hold; `or` parts lists of which one must. None always holds."""
    return tests is None or _compiled(tests)(value)


@lru_cache(maxsize=4096)
def _compiled(tests: str) -> Test:
    every = [[_test(test) for test in part.split()] for part in tests.split(" or ")]
    return lambda value: any(all(test(value) for test in part) for part in every)


def _test(test: str) -> Test:
    negated, test = test.startswith("!"), test.removeprefix("!")
    for sign, passes in _SIGNS.items():
        path, there, words = test.partition(sign)
        if there and sign not in path:
            listed = [word.replace("_", " ") for word in words.split("|")] if sign == "*" else words.split("|")
            return lambda value: bool(passes(at(value, path)[0], listed)) is not negated
    return lambda value: (at(value, test)[0] is None) is negated

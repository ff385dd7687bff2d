"""Paths and tests of declared formats: `a.b|c` takes the first that is there; `a`, `!a`, `a=x|y`, `a:text` test.

Of several paths the first counts at which more than an empty text, list or object stands. A test of a path with `[*]`
holds where one of all that it leads to passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from webapp.dumps.json_path import JsonPath, Steps, parse_path, value_at, values_at

Test = Callable[[Any], bool]
Paths = str | tuple[Steps, ...]
"""Paths as they are written in the table, or as they were read."""
_TYPES: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "said": lambda value: isinstance(value, str) and value != "",
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": lambda value: isinstance(value, int | float),
    "true": lambda value: isinstance(value, bool),
}
_SIGNS: dict[str, Callable[[Any, list[str]], bool]] = {
    "~": lambda value, words: str(value).startswith(tuple(words)),
    "*": lambda value, words: any(word in str(value) for word in words),
    "=": lambda value, words: str(value) in words,
    ":": lambda value, words: any(_TYPES[word](value) for word in words),
}
"""begins with, holds, is, is of the type"""
_TEST = re.compile(r"(?P<not>!?)(?P<path>(?:\[[^\]]*\]|[^~*=:\[\]])+)(?:(?P<sign>[~*=:])(?P<words>.*))?")


@lru_cache(maxsize=4096)
def _paths(path: str) -> tuple[Steps, ...]:
    return tuple(() if step in (".", "$") else parse_path(step) for step in path.split("|"))


def at(value: Any, path: Paths | None) -> tuple[Any, JsonPath | None]:
    """What stands at the first of the paths that leads to something, and where that is; (None, None) for none."""
    empty: tuple[Any, JsonPath | None] = (None, None)
    for steps in path if isinstance(path, tuple) else _paths(path) if path else ():
        inner, place = value_at(value, steps)
        if inner is not None and not (isinstance(inner, str | list | dict) and not inner):
            return inner, place
        empty = (inner, place) if inner is not None and empty[0] is None else empty
    return empty


def all_at(value: Any, path: str | None) -> list[Any]:
    """All that the paths lead to."""
    return [inner for steps in (_paths(path) if path else ()) for inner, _ in values_at(value, steps)]


def holds(value: Any, tests: str | None) -> bool:
    """Whether all of the tests, which a space parts, hold; `or` parts lists of which one must. None always holds."""
    return tests is None or _compiled(tests)(value)


@lru_cache(maxsize=4096)
def _compiled(tests: str) -> Test:
    every = [[_test(test) for test in part.split()] for part in tests.split(" or ")]
    return lambda value: any(all(test(value) for test in part) for part in every)


def _test(test: str) -> Test:
    match = _TEST.fullmatch(test)
    if match is None:
        raise ValueError(f"the test {test!r} cannot be read")
    negated, path, sign, words = bool(match["not"]), match["path"], match["sign"], match["words"]
    if sign is None:
        return lambda value: (at(value, path)[0] is None) is negated
    passes, listed = _SIGNS[sign], words.split("|")
    listed = [word.replace("_", " ") for word in listed] if sign == "*" else listed
    if words == "null":  # which is there, unlike what is missing
        return lambda value: (None in all_at(value, path)) is not negated
    if "[*]" in path:
        return lambda value: any(passes(inner, listed) for inner in all_at(value, path)) is not negated
    return lambda value: passes(at(value, path)[0], listed) is not negated

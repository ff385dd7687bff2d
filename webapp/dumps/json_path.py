"""The small path language of mappings and declared formats: .key or ["key"] for a member, [n] for an item.

`[*]` is any member or item, of which the first counts that the rest of the path leads on from. A path also leads into
what a text holds as JSON; `{}` is that itself, or what it holds in base64.

Declared formats name several paths, `a.b|c`, of which the first counts at which more than an empty text, list or object
stands, and tests: `a`, `!a`, `a=x|y`, `a:text`, `a~x` (begins with), `a*x` (holds), `a@x` (has a key that begins with).
With `[*]` one of all that the path leads to must pass.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from webapp.dumps.decoding import json_or_none, opened
from webapp.dumps.values import moment

JsonPath = tuple[str | int, ...]
Steps = tuple[str | int | None, ...]
"""A path as it was written: None is any item of a list, or member of an object."""
_OPENED = "{}"
_IN_BASE64 = ("ey", "ew", "W3", "Wy", "Ww")
"""how an object or a list of JSON begins in base64"""
EACH = "[*]"
"""Stands in the path of `each` for every item of a list, or member of an object."""

_STEP = re.compile(
    r"""(?P<opened>\{\})                      # {}
    |\.(?P<name>[^.\[\]{}"'\s]+)            # .key
    |\[(?P<any>\*)\]                        # [*]
    |\[(?P<index>-?\d{1,9})\]                # [0], [-1] is the last
    |\[(?P<quoted>"(?:[^"\\]|\\.)*")\]       # ["any key"], as JSON writes it
    |\['(?P<single>[^']*)'\]                 # ['any key']""",
    re.VERBOSE,
)


class BadPath(ValueError):
    """A path that cannot be read; the message says where."""


def parse_path(path: Any) -> Steps:
    """The steps of a path as `$.output.text`, `$.choices[0]["odd key"]` or `$`; without `$.` it is taken as after it.

    Raises `BadPath`.
    """
    if not isinstance(path, str) or not path:
        raise BadPath(f"a path is a text as $.output.text, not {path!r}")
    rest = path if path.startswith("$") else f"${'' if path.startswith('[') else '.'}{path}"
    at, steps = 1, list[str | int | None]()
    while at < len(rest):
        match = _STEP.match(rest, at)
        if match is None:
            raise BadPath(f"the path {path!r} cannot be read from {rest[at : at + 20]!r} on")
        steps.append(_step(match, path))
        at = match.end()
    return tuple(steps)


def _step(match: re.Match[str], path: str) -> str | int | None:
    if match["any"] is not None:
        return None
    if match["opened"] is not None:
        return _OPENED
    if match["index"] is not None:
        return int(match["index"])
    if match["quoted"] is not None:
        try:
            return str(json.loads(match["quoted"]))
        except ValueError as error:
            raise BadPath(f"the path {path!r} cannot be read: {match['quoted']} is not JSON text") from error
    return match["name"] or match["single"] or ""


def value_at(value: Any, steps: Steps) -> tuple[Any, JsonPath | None]:
    """What stands at `steps`, with its place counted from the start; (None, None) where the path leads nowhere."""
    for number, step in enumerate(steps):
        if isinstance(value, dict) and step in value:  # most paths are names alone
            value = value[step]
            continue
        if isinstance(value, dict) and step not in (None, _OPENED):
            return None, None
        each = values_at(value, steps[number:], cast("JsonPath", steps[:number])) if value is not None else iter(())
        return next((match for match in each if match[0] is not None), (None, None))
    return value, cast("JsonPath", steps)


def values_at(value: Any, steps: Steps, place: JsonPath = ()) -> Iterator[tuple[Any, JsonPath]]:
    """All that `steps` lead to; several things only where one of them is any."""
    for number, step in enumerate(steps):
        value = opened(value)
        if step == _OPENED:
            inner = _held(value) if isinstance(value, str) else value
            value = value if inner is None and str(value).strip() != "null" else inner
            continue
        if step is None:
            items = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
            for key, inner in items:
                yield from values_at(inner, steps[number + 1 :], (*place, key))
            return
        if isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            step %= len(value)
        elif not (isinstance(step, str) and isinstance(value, dict) and step in value):
            return
        place, value = (*place, step), value[step]
    yield value, place


def parse_each(path: Any) -> tuple[Steps, ...]:
    """The steps up to each `[*]` of a path as `$.conversations[*].turns[*]`, which ends with one. Raises `BadPath`."""
    if not isinstance(path, str) or not path.strip().endswith(EACH):
        raise BadPath(f"the path of each ends with [*], as $.items[*], not {path!r}")
    first, *later = path.strip()[: -len(EACH)].split(EACH)
    return tuple(parse_path(part if number == 0 else f"${part}") for number, part in enumerate([first or "$", *later]))


def each_at(
    value: Any, parts: tuple[Steps, ...], at: str = "$", around: tuple[Any, ...] = ()
) -> Iterator[tuple[str, Any, list[Any]]]:
    """Everything that the parts of an `each` lead to: its place, the value, and the objects around it, outermost first.

    What is around comes without the list or object that was gone through.
    """
    if not parts:
        yield at, value, list(around)
        return
    inner, place = value_at(value, parts[0])
    outer = (*around, without(value, place)) if place else around
    at += "".join(f"[{json.dumps(step)}]" for step in place or ())
    for key, item in inner.items() if isinstance(inner, dict) else enumerate(inner if isinstance(inner, list) else ()):
        yield from each_at(item, parts[1:], f"{at}[{json.dumps(key)}]", outer)


def without(value: Any, place: JsonPath) -> Any:
    """`value` without what stands at `place`; only what leads there is copied."""
    if not isinstance(value, dict):
        return None
    rest = {key: inner for key, inner in value.items() if key != place[0]}
    if len(place) > 1:
        rest[str(place[0])] = without(value[place[0]], place[1:])
    return rest


MOST_PATHS = 120
MOST_NAMED = 3
_DEEPEST = 6
_LONGEST = 80
_TELLING = 20
"""Characters from which a text may be what somebody said."""
_PLAIN = re.compile(r"""[^.\[\]{}"'\s]+""")


@dataclass(frozen=True, slots=True)
class OutlinePath:
    """A path that leads somewhere in the first records: the kind of what stands there, and the first of it."""

    path: str
    kind: str
    sample: str
    text: str | None


def long_texts(values: list[Any]) -> list[str]:
    """The paths of the longest texts in these values, the longest first, as a mapping may name them."""
    lengths: dict[str, int] = {}
    for value in values:
        for place in islice(places_of(value, "$", 0), MOST_PATHS):
            if place.text and len(place.text) >= _TELLING and moment(place.text) is None:
                lengths[place.path] = max(lengths.get(place.path, 0), len(place.text))
    return sorted(lengths, key=lambda path: -lengths[path])[:MOST_NAMED]


def places_of(value: Any, path: str, depth: int) -> Iterator[OutlinePath]:
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            step = member(key).removeprefix("$")
            yield from places_of(inner, path + step, depth + 1)
    elif isinstance(value, list) and value and depth < _DEEPEST:
        yield OutlinePath(path, "list", _sample(value), None)
        yield from places_of(value[0], f"{path}[0]", depth + 1)
        if len(value) > 1:
            yield from places_of(value[-1], f"{path}[-1]", depth + 1)
    else:
        text = value if isinstance(value, str) else None
        yield OutlinePath(path, _kind(value), _sample(value), text)


def member(key: str) -> str:
    """The path of a record's member."""
    return f"$.{key}" if _PLAIN.fullmatch(key) else f"$[{json.dumps(key)}]"


def beside(path: str, key: str) -> str:
    """The path of a member that stands beside what a path leads to. Raises `BadPath`."""
    steps = (
        EACH if step is None else f"[{step}]" if isinstance(step, int) else member(step)
        for step in parse_path(path)[:-1]
    )
    return "$" + "".join(step.removeprefix("$") for step in (*steps, member(key)))


def _held(written: str) -> Any:
    """What a text holds as JSON, or as JSON in base64; None where it is neither."""
    if not written.startswith(_IN_BASE64):
        return json_or_none(written)
    try:
        return json_or_none(b64decode(written, validate=True).decode("utf-8"))
    except ValueError:
        return None


def _kind(value: Any) -> str:
    names = {str: "text", bool: "boolean", int: "number", float: "number", dict: "object", list: "list"}
    return names.get(type(value), "null")


def _sample(value: Any) -> str:
    sample = value[: _LONGEST + 1] if isinstance(value, str) else json.dumps(value)
    return sample if len(sample) <= _LONGEST else sample[: _LONGEST - 1] + "…"


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
    "@": lambda value, words: isinstance(value, dict) and any(str(key).startswith(tuple(words)) for key in value),
}
"""begins with, holds, is, is of the type, has a key that begins with"""
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_TEST = re.compile(r"(?P<not>!?)(?P<path>(?:\[[^\]]*\]|[^~*=:@\[\]])+)(?:(?P<sign>[~*=:@])(?P<words>.*))?")


@lru_cache(maxsize=4096)
def _paths(path: str) -> tuple[Steps, ...]:
    return tuple(() if step in (".", "$") else parse_path(step) for step in path.split("|"))


def at(value: Any, path: Paths | None) -> tuple[Any, JsonPath | None]:
    """What stands at the first of the paths that leads to something, and where that is; (None, None) for none."""
    empty: tuple[Any, JsonPath | None] = (None, None)
    for steps in path if isinstance(path, tuple) else _paths(path) if path else ():
        inner, place = value_at(value, steps)
        if inner not in _NOTHING:
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
    if len(every) == len(every[0]) == 1:
        return every[0][0]
    return lambda value: any(all(test(value) for test in part) for part in every)


def _test(test: str) -> Test:
    match = _TEST.fullmatch(test)
    if match is None:
        raise ValueError(f"the test {test!r} cannot be read")
    negated, path, sign, words = bool(match["not"]), match["path"], match["sign"], match["words"]
    paths = _paths(path)
    if sign is None:
        return lambda value: (at(value, paths)[0] is None) is negated
    passes, listed = _SIGNS[sign], words.split("|")
    listed = [word.replace("_", " ") for word in listed] if sign == "*" else listed
    if words == "null":  # which is there, unlike what is missing
        return lambda value: (None in all_at(value, path)) is not negated
    if "[*]" in path:
        return lambda value: any(passes(inner, listed) for inner in all_at(value, path)) is not negated
    return lambda value: passes(at(value, paths)[0], listed) is not negated

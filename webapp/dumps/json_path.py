"""The small path language of mappings: $ for the entry, .key or ["key"] for a member, [n] for an item."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

JsonPath = tuple[str | int, ...]
EACH = "[*]"
"""Stands in the path of `each` for every item of a list, or member of an object."""

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]"'\s]+)            # .key
    |\[(?P<index>-?\d{1,9})\]                # [0], [-1] is the last
    |\[(?P<quoted>"(?:[^"\\]|\\.)*")\]       # ["any key"], as JSON writes it
    |\['(?P<single>[^']*)'\]                 # ['any key']""",
    re.VERBOSE,
)


class BadPath(ValueError):
    """A path that cannot be read; the message says where."""


def parse_path(path: Any) -> JsonPath:
    """The steps of a path as `$.output.text`, `$.choices[0]["odd key"]` or `$`; without `$.` it is taken as after it.

    Raises `BadPath`.
    """
    if not isinstance(path, str) or not path:
        raise BadPath(f"a path is a text as $.output.text, not {path!r}")
    rest = path if path.startswith("$") else f"${'' if path.startswith('[') else '.'}{path}"
    at, steps = 1, []
    while at < len(rest):
        match = _STEP.match(rest, at)
        if match is None:
            raise BadPath(f"the path {path!r} cannot be read from {rest[at : at + 20]!r} on")
        steps.append(_step(match, path))
        at = match.end()
    return tuple(steps)


def _step(match: re.Match[str], path: str) -> str | int:
    if match["index"] is not None:
        return int(match["index"])
    if match["quoted"] is not None:
        try:
            return str(json.loads(match["quoted"]))
        except ValueError as error:
            raise BadPath(f"the path {path!r} cannot be read: {match['quoted']} is not JSON text") from error
    return match["name"] or match["single"] or ""


def value_at(value: Any, steps: JsonPath) -> tuple[Any, JsonPath | None]:
    """What stands at `steps`, with its place counted from the start; (None, None) where the path leads nowhere."""
    place: list[str | int] = []
    for step in steps:
        if isinstance(step, str) and isinstance(value, dict) and step in value:
            place.append(step)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            place.append(step % len(value))
        else:
            return None, None
        value = value[place[-1]]
    return value, tuple(place)


def parse_each(path: Any) -> tuple[JsonPath, ...]:
    """The steps up to each `[*]` of a path as `$.conversations[*].turns[*]`, which ends with one. Raises `BadPath`."""
    if not isinstance(path, str) or not path.strip().endswith(EACH):
        raise BadPath(f"the path of each ends with [*], as $.items[*], not {path!r}")
    first, *later = path.strip()[: -len(EACH)].split(EACH)
    return tuple(parse_path(part if number == 0 else f"${part}") for number, part in enumerate([first or "$", *later]))


def each_at(value: Any, parts: tuple[JsonPath, ...]) -> Iterator[tuple[str, Any, list[Any]]]:
    """Everything that the parts of an `each` lead to: its place, the value, and the objects around it, outermost first.

    What is around comes without the list or object that was gone through.
    """
    waiting: list[tuple[str, Any, list[Any], int]] = [("$", value, [], 0)]
    while waiting:
        at, value, around, depth = waiting.pop()
        if depth == len(parts):
            yield at, value, around
            continue
        inner, place = value_at(value, parts[depth])
        outer = [*around, _without(value, place)] if place else around
        items = inner.items() if isinstance(inner, dict) else enumerate(inner if isinstance(inner, list) else ())
        at += "".join(f"[{json.dumps(step)}]" for step in place or ())
        below = [(f"{at}[{json.dumps(key)}]", item, outer, depth + 1) for key, item in items]
        waiting.extend(reversed(below))


def _without(value: Any, place: JsonPath) -> Any:
    """`value` without what stands at `place`; only what leads there is copied."""
    if not isinstance(value, dict):
        return None
    rest = {key: inner for key, inner in value.items() if key != place[0]}
    if len(place) > 1:
        rest[str(place[0])] = _without(value[place[0]], place[1:])
    return rest

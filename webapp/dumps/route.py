"""The small path language of mappings: $ for the entry, .key or ["key"] for a member, [n] for an item."""

from __future__ import annotations

import json
import re
from typing import Any

Route = tuple[str | int, ...]

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]"'\s]+)            # .key
    |\[(?P<index>-?\d{1,9})\]                # [0], [-1] is the last
    |\[(?P<quoted>"(?:[^"\\]|\\.)*")\]       # ["any key"], as JSON writes it
    |\['(?P<single>[^']*)'\]                 # ['any key']""",
    re.VERBOSE,
)


class BadRoute(ValueError):
    """A path that cannot be read; the message says where."""


def route(path: Any) -> Route:
    """The steps of a path as `$.output.text`, `$.choices[0]["odd key"]` or `$`; without `$.` it is taken as after it.

    Raises `BadRoute`.
    """
    if not isinstance(path, str) or not path:
        raise BadRoute(f"a path is a text as $.output.text, not {path!r}")
    rest = path if path.startswith("$") else f"${'' if path.startswith('[') else '.'}{path}"
    at, steps = 1, []
    while at < len(rest):
        match = _STEP.match(rest, at)
        if match is None:
            raise BadRoute(f"the path {path!r} cannot be read from {rest[at : at + 20]!r} on")
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
            raise BadRoute(f"the path {path!r} cannot be read: {match['quoted']} is no JSON text") from error
    return match["name"] or match["single"] or ""


def at_route(value: Any, steps: Route) -> tuple[Any, Route | None]:
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

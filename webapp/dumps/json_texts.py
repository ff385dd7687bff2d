"""The texts in somebody's JSON with the paths that lead to them, as a mapping names them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

MOST_PATHS = 120
MOST_NAMED = 3
_DEEPEST = 6
_LONGEST = 80
_TELLING = 20
"""Characters from which a text may be what somebody said."""
_PLAIN = re.compile(r"""[^.\[\]"'\s]+""")


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
            if place.text and len(place.text) >= _TELLING:
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


def _kind(value: Any) -> str:
    names = {str: "text", bool: "boolean", int: "number", float: "number", dict: "object", list: "list"}
    return names.get(type(value), "null")


def _sample(value: Any) -> str:
    sample = value[: _LONGEST + 1] if isinstance(value, str) else json.dumps(value)
    return sample if len(sample) <= _LONGEST else sample[: _LONGEST - 1] + "…"

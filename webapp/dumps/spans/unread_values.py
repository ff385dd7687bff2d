"""Names what a span says in fields or types that OTLP does not have, of which nothing is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from webapp.dumps.records import Problem
from webapp.dumps.spans.attributes import KNOWN, SCALARS, SNAKE
from webapp.dumps.values import as_list

_FIELDS = frozenset(("attributes", "events", "links", "status", "resource", "scope"))
"""the fields of a span that hold values"""
_ANSWER = re.compile(
    r"(?:output|completion|response)[\w.]*\.(?:content|text|arguments|value|messages)$|^output\.value$"
)
"""keys of attributes under which a model's answer stands"""


def unread_values(at: str, entry: dict[str, Any]) -> Iterator[Problem]:
    """What a span or one of its events says in a type that OTLP does not have, of which nothing is read."""
    span = entry["span"]
    yield from _unknown_fields(at, span)
    events = [event.get("attributes") for event in as_list(span.get("events")) if isinstance(event, dict)]
    for key, names in chain.from_iterable(map(unread, (span.get("attributes"), *events))):
        types = ", ".join(names[:5])
        yield Problem(at, f"the value of {key} is of no type that OTLP has ({types}); it was left out")


def _unknown_fields(at: str, span: dict[str, Any]) -> Iterator[Problem]:
    """Fields that no span of OTLP has and that hold values, of which nothing is read."""
    for key in [key for key in span if key not in _FIELDS and isinstance(span[key], dict | list) and span[key]]:
        yield Problem(at, f"{str(key)[:40]!r} is not a field of a span; its value was left out")


def unread(listed: Any) -> list[tuple[str, list[str]]]:
    """The attributes whose value has none of OTLP's types, each with the keys, or the type, that it has instead."""
    pairs = [pair for pair in as_list(listed) if isinstance(pair, dict) and pair.get("key")]
    return [(str(pair["key"]), wrong) for pair in pairs if (wrong := _wrong(pair.get("value", _no_value(pair))))] + [
        (str(pair["key"]), ["nothing"]) for pair in pairs if not pair.get("value") and _ANSWER.search(str(pair["key"]))
    ]


def _no_value(pair: dict[str, Any]) -> Any:
    """What stands where the value should be: nothing is OTLP's way to write nothing."""
    return {key: value for key, value in pair.items() if key != "key"}


def _wrong(value: Any) -> list[str]:
    """The keys of a value, or of one within it, that is of no type that OTLP has; none where it can be read."""
    if isinstance(value, list):
        return ["a list"] if any(isinstance(item, dict) and item.keys() & KNOWN for item in value) else []
    if not isinstance(value, dict) or not value:
        return []
    kind = next((key for key in value if key in KNOWN), None)
    if kind is None:
        return [str(key) for key in value]
    inner = value[kind]
    if SNAKE.get(kind, kind) in SCALARS:
        return [f"{kind} that is no scalar"] if isinstance(inner, dict | list) else []
    values = inner.get("values") if isinstance(inner, dict) else None
    if not isinstance(values, list):
        return [f"{kind} without a list of values"] if inner else []
    held = [item.get("value") if kind[0] == "k" and isinstance(item, dict) else item for item in values]
    return next((wrong for item in held if (wrong := _wrong(item))), [])

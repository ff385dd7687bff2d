"""Names what of a span cannot be read, in fields or types that OTLP does not have, and tells spans that say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from webapp.dumps.decoding import kind_of
from webapp.dumps.records import Problem
from webapp.dumps.spans.attributes import KNOWN, SCALARS, SNAKE, plain
from webapp.dumps.values import as_list, as_object

_FIELDS = frozenset(("attributes", "events", "links", "status", "resource", "scope"))
"""the fields of a span that hold values"""
_TYPED_TEXT = re.compile(r'\s*\{\s*"[a-z_]+[vV]alue"\s*:')
_ANSWER = re.compile(
    r"(?:output|completion|response)[\w.]*\.(?:content|text|arguments|value|messages)$|^output\.value$"
)
"""keys of attributes under which a model's answer stands"""


def unread_values(at: str, entry: dict[str, Any]) -> Iterator[Problem]:
    """What a span or one of its events says in a type that OTLP does not have, of which nothing is read."""
    span = entry["span"]
    yield from _unknown_fields(at, span)
    events = [event.get("attributes") for event in as_list(span.get("events")) if isinstance(event, dict)]
    yield from _untyped(at, span.get("attributes"), *events)


def unread_in_log(at: str, record: dict[str, Any]) -> Iterator[Problem]:
    """The same of a log record: its attributes, and its body."""
    yield from _untyped(at, [*as_list(record.get("attributes")), {"key": "the body", "value": record.get("body")}])


def _untyped(at: str, *listed: Any) -> Iterator[Problem]:
    for key, names in chain.from_iterable(map(unread, listed)):
        yield Problem(at, f"the value of {key} is of no type that OTLP has ({', '.join(names[:5])}); it was left out")


def _unknown_fields(at: str, span: dict[str, Any]) -> Iterator[Problem]:
    """Fields that no span of OTLP has and that hold values, of which nothing is read."""
    if span.get("attributes") and not isinstance(span["attributes"], list | dict):
        yield Problem(at, f"attributes: expected a list, found {kind_of(span['attributes'])}; they were left out")
    for key in [key for key in span if key not in _FIELDS and isinstance(span[key], dict | list) and span[key]]:
        yield Problem(at, f"{str(key)[:40]!r} is not a field of a span; its value was left out")


def unread(listed: Any) -> Iterator[tuple[str, list[str]]]:
    """The attributes whose value has none of OTLP's types, each with the keys, or the type, that it has instead."""
    for name, value in as_object(listed).items():  # by their keys, as they are; a list of pairs is none of them
        if isinstance(value, list | dict) and _is_pair(value[0] if isinstance(value, list) and value else value):
            yield str(name), ["pairs of a key and a value"]
    for pair in as_list(listed):
        key = pair.get("key") if isinstance(pair, dict) else None
        if not key and pair and (isinstance(pair, list) or as_object(pair).get("value")):
            yield "an attribute without a key", [kind_of(pair)]
        elif key and not isinstance(key, str):
            yield "an attribute whose key is no text", [kind_of(key)]
        elif key and (wrong := _wrong(pair.get("value", _no_value(pair)))):
            yield str(key), wrong
        elif key and not pair.get("value") and _ANSWER.search(str(key)):
            yield str(key), ["nothing"]


def _is_pair(value: Any) -> bool:
    """Whether this is a pair as a list of attributes has it."""
    return isinstance(value, dict) and value.keys() >= {"key", "value"}


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
    inside = _wrong_pair if kind[0] == "k" else _wrong
    return next((wrong for item in values if (wrong := inside(item))), [])


def _wrong_pair(pair: Any) -> list[str]:
    """As `_wrong`, of a pair within a value."""
    if not isinstance(pair, dict):
        return [f"{kind_of(pair)} where a pair should be"] if pair else []
    value = pair.get("value", _no_value(pair))
    if isinstance(value, str):
        return ["its type and its value as a text"] if _TYPED_TEXT.match(value) else []
    return _wrong(value)


_IDS = ("spanId", "span_id")
_TIMES = ("startTimeUnixNano", "start_time_unix_nano")


def is_bare(span: dict[str, Any]) -> bool:
    """Whether a span has neither id and time, by which others know it, nor a value, an event or a status of its own."""
    if any(span.get(key) for key in _IDS) and any(span.get(key) for key in _TIMES):
        return False
    return not (_has_values(span.get("attributes")) or _has_events(span) or as_object(span.get("status")))


def _has_events(span: dict[str, Any]) -> bool:
    events = (event for event in as_list(span.get("events")) if isinstance(event, dict))
    return any(event.get("name") or _has_values(event.get("attributes")) for event in events)


def _has_values(attributes: Any) -> bool:
    if isinstance(attributes, dict):
        return bool(attributes)
    pairs = (pair for pair in as_list(attributes) if isinstance(pair, dict))
    return any(pair.get("key") and plain(pair.get("value")) is not None for pair in pairs)

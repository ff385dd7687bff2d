"""OpenTelemetry attributes as plain values, with the place of each text, and indexed ones as lists of messages."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from webapp.dumps.decoding import kind_of
from webapp.dumps.records import Problem
from webapp.dumps.values import as_list, as_object

SCALARS = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")
_TYPES = frozenset((*SCALARS, "arrayValue", "kvlistValue"))
SNAKE = {name.replace("Value", "_value"): name for name in _TYPES}
"""Protobuf's JSON may spell a field as its definition does, and readers accept both."""
KNOWN = _TYPES | SNAKE.keys()
_HEX = re.compile(r"[0-9a-fA-F]+")
MOST_INDEX = 10_000


class Attributes:
    """A list of `{key, value}` as OTLP writes it, its `values` by key."""

    def __init__(self, listed: Any) -> None:
        self.values: dict[str, Any] = {}
        if isinstance(listed, dict):  # some exporters write a plain object
            self.values = {str(key): plain(value) if typed(value) else value for key, value in listed.items()}
        for pair in as_list(listed):
            if isinstance(pair, dict) and isinstance(pair.get("key"), str):
                self.values[pair["key"]] = plain(pair.get("value"))

    def first(self, *keys: str) -> Any:
        """The value of the first of `keys` that there is and that is neither None nor empty."""
        for key in keys if self.values else ():
            if (value := self.values.get(key)) is not None and value != "":
                return value
        return None

    def text(self, *keys: str) -> str | None:
        """The first of `keys` that is a text."""
        for key in keys if self.values else ():
            if isinstance(value := self.values.get(key), str) and value:
                return value
        return None

    def indexed(self, prefix: str) -> list[dict[str, Any]]:
        """`prefix.N.rest` by N: for each N its `rest`s with their values."""
        by_number: dict[int, dict[str, Any]] = {}
        for key, value in self.values.items():
            if not key.startswith(prefix + "."):
                continue
            number, _, rest = key[len(prefix) + 1 :].partition(".")
            if number.isdigit() and len(number) < 6 and int(number) < MOST_INDEX:
                by_number.setdefault(int(number), {})[rest] = value
        return [by_number[number] for number in sorted(by_number)]


def typed(value: Any) -> str | None:
    """The type that a value of OTLP names; None where it is none."""
    return next((key for key in value if key in KNOWN), None) if isinstance(value, dict) and len(value) == 1 else None


def plain(value: Any) -> Any:
    """What a typed value says; `intValue` may be a text."""
    if not isinstance(value, dict):
        return value
    if "intValue" in value:
        try:
            return int(value["intValue"])
        except (TypeError, ValueError, OverflowError):
            return None
    for key in SCALARS:
        if key in value:
            return value[key]
    array, pairs = value.get("arrayValue"), value.get("kvlistValue")
    if isinstance(array, dict):
        return [plain(inner) for inner in as_list(array.get("values"))]
    if isinstance(pairs, dict):
        listed = [pair for pair in as_list(pairs.get("values")) if isinstance(pair, dict)]
        return {str(pair.get("key")): plain(pair.get("value")) for pair in listed}
    camel = {SNAKE[key]: inner for key, inner in value.items() if key in SNAKE}
    return plain(camel) if camel else None


def id_hex(value: Any, size: int) -> str | None:
    """A trace's (16 bytes) or span's (8) id as lower-case hex, which JSON may write as hex or base64."""
    if not isinstance(value, str) or not value:
        return None
    if len(value) == 2 * size and _HEX.fullmatch(value):
        return value.lower()
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        return value
    return data.hex() if len(data) == size else value


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

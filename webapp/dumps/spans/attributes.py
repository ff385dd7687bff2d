"""OpenTelemetry attributes as plain values, with the place of each text, and indexed ones as lists of messages."""

from __future__ import annotations

import base64
import re
from typing import Any

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


_IDS = ("spanId", "span_id")
_TIMES = ("startTimeUnixNano", "start_time_unix_nano")


def is_bare(span: dict[str, Any]) -> bool:
    """Whether a span has neither id and time, by which others know it, nor a value, an event or a status of its own."""
    if any(span.get(key) for key in _IDS) and any(span.get(key) for key in _TIMES):
        return False
    events = (event for event in as_list(span.get("events")) if isinstance(event, dict))
    has_events = any(event.get("name") or _has_values(event.get("attributes")) for event in events)
    return not (has_events or _has_values(span.get("attributes")) or as_object(span.get("status")))


def _has_values(attributes: Any) -> bool:
    if isinstance(attributes, dict):
        return bool(attributes)
    pairs = (pair for pair in as_list(attributes) if isinstance(pair, dict))
    return any(pair.get("key") and plain(pair.get("value")) is not None for pair in pairs)

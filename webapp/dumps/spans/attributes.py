"""OpenTelemetry attributes as plain values, with the place of each text, and indexed ones as lists of messages."""

from __future__ import annotations

import base64
import re
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.pieces import Path
from webapp.dumps.values import as_list

SCALARS = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")
_TYPES = frozenset((*SCALARS, "arrayValue", "kvlistValue"))
SNAKE = {name.replace("Value", "_value"): name for name in _TYPES}
"""Protobuf's JSON may spell a field as its definition does, and readers accept both."""
KNOWN = _TYPES | SNAKE.keys()
_TEXTS = ("stringValue", "string_value")
_HEX = re.compile(r"[0-9a-fA-F]+")
MOST_INDEX = 10_000


class Attributes:
    """A list of `{key, value}` as OTLP writes it; `values` by key, `paths` lead to texts in the entry."""

    def __init__(self, listed: Any, at: Path) -> None:
        self.values: dict[str, Any] = {}
        self.paths: dict[str, Path] = {}
        if isinstance(listed, dict):  # some exporters write a plain object
            self._take(listed, at)
        for index, pair in enumerate(listed if isinstance(listed, list) else []):
            if isinstance(pair, dict) and isinstance(pair.get("key"), str):
                value = pair.get("value")
                self.values[pair["key"]] = plain(value)
                if isinstance(value, dict) and (kind := next((key for key in _TEXTS if key in value), None)):
                    self.paths[pair["key"]] = (*at, index, "value", kind)

    def _take(self, listed: dict[Any, Any], at: Path) -> None:
        """Values by their keys: as they are, or of OTLP's types."""
        for key, value in listed.items():
            kind = typed(value)
            self.values[str(key)] = plain(value) if kind else value
            if kind in _TEXTS or isinstance(value, str):
                self.paths[str(key)] = (*at, key, kind) if kind else (*at, key)

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

    def indexed(self, prefix: str) -> list[dict[str, tuple[Any, Path | None]]]:
        """`prefix.N.rest` by N: for each N its `rest`s with their values and places."""
        by_number: dict[int, dict[str, tuple[Any, Path | None]]] = {}
        for key, value in self.values.items():
            if not key.startswith(prefix + "."):
                continue
            number, _, rest = key[len(prefix) + 1 :].partition(".")
            if number.isdigit() and len(number) < 6 and int(number) < MOST_INDEX:
                by_number.setdefault(int(number), {})[rest] = (value, self.paths.get(key))
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


def parsed(value: Any) -> Any:
    """A structured value that was written as JSON text; other texts as they are."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        structure = json_or_none(value)
        return value if structure is None else structure
    return value


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

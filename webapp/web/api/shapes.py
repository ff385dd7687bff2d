"""JSON schemas of what the API takes and answers: `shapes.toml` says what each shape has, in the notation read here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from webapp.contracts.contract import STATES
from webapp.dumps.answer_alarm import WORDS as NOT_IN_LOG
from webapp.dumps.messages.metadata import REASONS
from webapp.parsing.words import KINDS
from webapp.store.labels.label_content import EXPECTS, JUDGEMENTS
from webapp.store.write.tally import VERDICTS

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Content:
    """What a request brings or an answer holds: its schema by media type, and an example of it as JSON."""

    about: str
    schemas: Mapping[str, Schema]
    example: Any = None


def one_of(values: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def whole(least: int, most: int = 2**63 - 1) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most}


TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
BINARY: Schema = {}
"""bytes, as OpenAPI 3.1 says it where a media type stands beside"""
_PAIR = {"type": "array", "minItems": 2, "maxItems": 2}
WORDS: dict[str, Schema] = {
    "text": TEXT,
    "count": COUNT,
    "any": {},
    "bytes": BINARY,
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "time": {"type": "string", "format": "date-time"},
    "span": _PAIR | {"items": COUNT},  # half-open, in code points
    "fragment": _PAIR | {"prefixItems": [TEXT, {"type": "boolean"}]},
    "verdict": one_of(VERDICTS),
    "kind": one_of(KINDS),
    "judgement": one_of(JUDGEMENTS),
    "expects": one_of(EXPECTS),
    "fact": one_of(NOT_IN_LOG),
    "reason": one_of((*REASONS, "other")),
    "contract_state": one_of(STATES),
}
_FIELDS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("shapes.toml").read_text("utf-8"))


@cache
def shape(notation: str) -> Schema:
    """The schema that the notation of `shapes.toml` says. Raises `KeyError` for a word that means nothing."""
    if notation.endswith("?"):
        return _or_null(shape(notation[:-1]))
    if notation.startswith("["):
        return {"type": "array", "items": shape(notation[1:-1])}
    if notation.startswith("{"):
        return {"type": "object", "additionalProperties": shape(notation[1:-1])}
    if "|" in notation:
        parts = notation.split("|")
        return {"anyOf": [shape(part) for part in parts]} if _FIELDS.keys() >= set(parts) else one_of(parts)
    if notation[0].isupper():
        return {"$ref": f"#/components/schemas/{notation}"}
    return WORDS[notation] if notation in WORDS else record(notation)


@cache
def record(name: str) -> Schema:
    """The object that a shape is, itself."""
    fields = {field: shape(notation) for notation, names in _FIELDS[name].items() for field in names.split()}
    always = sorted(field for field in fields if not field.endswith("?"))
    properties = {field.removesuffix("?"): schema for field, schema in fields.items()}
    return {"type": "object", "properties": properties, "required": always}


def components() -> dict[str, Schema]:
    """The shapes that have a name in the description."""
    return {name: record(name) for name in _FIELDS if name[0].isupper()}


def filled(name: str, source: object, **values: Any) -> dict[str, Any]:
    """The members that a shape always has: of `values`, else what `source` has by that name; times as ISO 8601.

    Raises `KeyError` for values that the shape has not.
    """
    members = record(name)["required"]
    if unknown := values.keys() - members:
        raise KeyError(f"{name} has no {', '.join(sorted(unknown))}")
    return {member: _plain(values[member] if member in values else getattr(source, member)) for member in members}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _or_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return schema | {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}

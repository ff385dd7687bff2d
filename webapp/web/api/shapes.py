"""JSON schemas of what the API takes and answers: `shapes.toml` says what each shape has, in the notation read here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
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
    fields = {field: shape(notation) for field, (notation, _) in _members(name).items()}
    always = sorted(field for field in fields if not field.endswith("?"))
    properties = {field.removesuffix("?"): schema for field, schema in fields.items()}
    return {"type": "object", "properties": properties, "required": always}


@cache
def _members(name: str) -> dict[str, tuple[str, str]]:
    """Of each member of a shape what it holds, and where a value of that shape has it."""
    parts = ((notation, *field.partition("=")) for notation, names in _FIELDS[name].items() for field in names.split())
    return {member: (notation, path or member) for notation, member, _, path in parts}


def components() -> dict[str, Schema]:
    """The shapes that have a name in the description."""
    return {name: record(name) for name in _FIELDS if name[0].isupper()}


def filled(name: str, source: object, **values: Any) -> dict[str, Any]:
    """The members that a shape always has: of `values`, else what `source` has there; what they hold filled likewise.

    Raises `KeyError` for values that the shape has not.
    """
    members = {member: how for member, how in _members(name).items() if not member.endswith("?")}
    if unknown := values.keys() - members:
        raise KeyError(f"{name} has no {', '.join(sorted(unknown))}")
    return {
        member: _plain(values[member] if member in values else _at(source, path), notation)
        for member, (notation, path) in members.items()
    }


def _at(source: Any, path: str) -> Any:
    """What stands there: attributes, or keys that a dict may lack; None behind what is None."""
    for part in path.split("."):
        source = source.get(part) if isinstance(source, dict) else getattr(source, part) if source is not None else None
    return source


def _plain(value: Any, notation: str) -> Any:
    """As JSON has it: times as ISO 8601; of a shape its members, which a plain tuple has in their order."""
    kind = notation.removesuffix("?")
    if isinstance(value, datetime):
        return value.isoformat()
    if value is None or (kind not in _FIELDS and kind[0] not in "[{"):
        return value
    if kind[0] == "[":
        return [_plain(item, kind[1:-1]) for item in value]
    if kind[0] == "{":
        return {key: _plain(item, kind[1:-1]) for key, item in value.items()}
    if type(value) is tuple:
        return dict(zip(_members(kind), value, strict=True))
    return value if isinstance(value, dict) else filled(kind, value)


def _or_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return schema | {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}

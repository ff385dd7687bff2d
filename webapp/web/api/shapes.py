"""Small JSON Schemas, of which the larger ones are made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Schema = dict[str, Any]

ANYTHING: Schema = {}
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
TIME: Schema = {"type": "string", "format": "date-time"}
BINARY: Schema = {}
"""bytes, as OpenAPI 3.1 says it where a media type stands beside"""
SPAN: Schema = {"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2}
"""half-open, in code points"""


def ref(name: str) -> Schema:
    """A schema that has a name of its own among the components."""
    return {"$ref": f"#/components/schemas/{name}"}


def record(optional: dict[str, Schema] | None = None, /, **fields: Schema) -> Schema:
    """An object that always has `fields`, and at times the `optional` ones."""
    return {"type": "object", "properties": fields | (optional or {}), "required": sorted(fields)}


def joined(schema: Schema, **fields: Schema) -> Schema:
    """A record with more fields, all of them always there."""
    optional = {name: each for name, each in schema["properties"].items() if name not in schema["required"]}
    return record(optional, **{name: schema["properties"][name] for name in schema["required"]}, **fields)


def many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def each(schema: Schema) -> Schema:
    """An object whose keys are data, with values of one shape."""
    return {"type": "object", "additionalProperties": schema}


def maybe(schema: Schema) -> Schema:
    """`schema`, or null."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return schema | {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(values: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def whole(least: int, most: int = 2**63 - 1) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most}

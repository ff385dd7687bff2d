"""Compiles declared schemas, which strangers wrote: nothing is fetched, patterns are linear, and all of it has a bound.

jsonschema-rs of the three validators that were measured: it alone has a linear engine for patterns, and holds a call
against its schema in half a microsecond (`docs/contracts.md`).
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from webapp.contracts.cost import Cost, NotChecked

MOST_ERRORS = 1_000
"""of one response that are counted"""
_DRAFTS = {"draft-04": "4", "draft-06": "6", "draft-07": "7", "2019-09": "201909", "2020-12": "202012"}
_LARGEST_PATTERNS, _LARGEST_CACHE = 2_000_000, 500_000
"""bytes of a schema's compiled patterns, and of what the search of one keeps"""
_MOST_STEPS = 20_000
"""of a pattern that looks around itself, as pydantic's of decimal numbers does; the others are linear"""
_NO_ANSWERS = ("BacktrackLimitExceeded", "RegexEngineFailure")
_ANNOTATIONS = ("contentEncoding", "contentMediaType")
"""keywords that describe and do not demand, whatever the validator makes of them"""
_TYPES = {kind.upper(): kind for kind in ("string", "number", "integer", "boolean", "array", "object", "null")}
_SIZES = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_VALUES = ("const", "default", "enum", "example", "examples")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "defs")


class Schema:
    """A compiled schema. `errors` are the validator's: `kind.name`, `instance_path`, `schema_path`, `message`."""

    def __init__(self, schema: Any) -> None:
        """Raises `NotChecked`."""
        self._cost = Cost(schema)
        self.schema = _plain(schema)
        self._validator = _compiled(self.schema, _LARGEST_PATTERNS // max(1, self._cost.patterns))

    def errors(self, value: Any, length: int) -> list[Any] | None:
        """What of a value, a text of so many characters, does not fit; empty where all does.

        None where it does not fit and looking for each place would take too much. Raises `NotChecked`.
        """
        try:
            allows_all = self._cost.allows_all(value, length)
            if self._validator.is_valid(value):
                return []
            return _in_time(list(self._validator.iter_errors(value))[:MOST_ERRORS]) if allows_all else None
        except UnicodeEncodeError:  # lone surrogates, which the validator cannot take
            return self.errors(json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")), length)
        except ValueError as reason:
            raise NotChecked(_words(reason)) from None


@lru_cache(maxsize=128)
def compiled(text: str) -> Schema | NotChecked:
    """The schema that is written as JSON in `text`, or why it is not used."""
    try:
        return Schema(json.loads(text))
    except NotChecked as reason:
        return reason
    except (ValueError, RecursionError):
        return NotChecked("the schema is nested too deep to be read")


def _plain(schema: Any) -> Any:
    """The schema in JSON Schema's words: Google and OpenAPI have others for types and for what may be null, SDKs write
    null for a keyword that is not there."""
    if isinstance(schema, list):
        return [_plain(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    content = {key: value for key, value in schema.items() if key not in _ANNOTATIONS}
    plain = {key: _keyword(key, value) for key, value in content.items() if value is not None or key in _VALUES[:2]}
    kind = plain.get("type")
    if kind == "TYPE_UNSPECIFIED":
        del plain["type"]
    elif isinstance(kind, str):
        plain["type"] = _TYPES.get(kind, kind)
    return _or_null(plain) if plain.get("nullable") is True else plain


def _keyword(name: str, value: Any) -> Any:
    if name in _MAPS and isinstance(value, dict):
        return {key: True if inner is None else _plain(inner) for key, inner in value.items()}
    if name in _SIZES and isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if name in _VALUES else _plain(value)


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(schema.get("type"), str) or any(name in schema for name in ("$ref", "allOf", "anyOf", "oneOf")):
        return {"anyOf": [schema, {"type": "null"}]}
    if isinstance(schema.get("enum"), list):
        schema["enum"] = [*schema["enum"], None]
    return schema | {"type": [schema["type"], "null"]}


def _compiled(schema: Any, largest: int) -> Any:
    import jsonschema_rs  # takes a tenth of a second, and most commands hold nothing against a schema

    if not isinstance(schema, dict | bool):
        raise NotChecked(f"the schema is a {type(schema).__name__}, no object")
    patterns = jsonschema_rs.FancyRegexOptions(_MOST_STEPS, largest, _LARGEST_CACHE)
    draft_class, refused = None, ""
    if isinstance(schema, dict):
        draft_class = next((kind for draft, kind in _DRAFTS.items() if draft in str(schema.get("$schema"))), None)
        schema = {key: value for key, value in schema.items() if key != "$schema"}
    for kind in (draft_class,) if draft_class else ("202012", "7", "4"):  # unnamed, it may be any
        try:
            make = getattr(jsonschema_rs, f"Draft{kind}Validator")
            return make(schema, offline=True, validate_formats=False, pattern_options=patterns)
        except ValueError as reason:
            refused = refused or _words(reason)
    raise NotChecked(refused)


def _in_time(errors: list[Any]) -> list[Any]:
    """The errors. Raises `NotChecked` where one is that a pattern took too long, on some way to it."""
    level = errors
    while level:
        if any(type(error.kind).__name__ in _NO_ANSWERS for error in level):
            raise NotChecked("pattern: it took too many steps")
        level = [inner for error in level for branch in getattr(error.kind, "context", ()) for inner in branch]
    return errors


def _words(reason: ValueError) -> str:
    if isinstance(reason, UnicodeEncodeError) or "surrogates" in str(reason):
        return "the schema holds a character that is half of a pair"
    first = str(reason).partition("\n")[0][:200]
    if 'is not a "regex"' in first or "regex" in first.lower():
        return f"pattern: the engine does not take {first.partition(' is not a ')[0]}"
    if "Recursion limit" in first:
        return "nested too deep"
    return f"the schema does not compile: {first}"

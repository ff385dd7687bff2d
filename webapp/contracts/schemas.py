"""Compiles declared schemas, which strangers wrote: nothing is fetched, patterns are linear, all of it has a bound.

How often a schema may look at a value has one, too: references let a short one ask the same of a value 2 ** 30 times.
`Cost` follows them without a value: along one path into it, so many schemas look at the value that stands `depth` steps
down. `Cost.allows_all` adds that up over the values that there are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

MOST_VISITS = 300_000
"""of a schema to values, for one response: about 30 ms"""
MOST_TOLD, MOST_COPIED, _TOLD = 15_000, 10_000_000, 1_000
"""visits, where every place that does not fit is looked for, and the characters of all copies: each look may end as a
misfit, which holds what it looked at and weighs so many characters itself"""
MOST_PATTERNS = 100
MOST_SEARCHED = 1_000_000
"""patterns times characters: the linear engine, too, takes a microsecond for each at worst"""
MOST_NODES, DEEPEST = 10_000, 200
"""objects and lists of a schema, and their nesting"""
TOO_DEEP = f"the schema is nested more than {DEEPEST} levels deep"
_DEEPEST_VALUE, _LONGEST_WAY, _COMPARED = 500, 150, 16
"""levels of a value; schemas that lead to each other; items that are compared while a schema looks at one"""
_BELOW = (
    *("additionalProperties", "unevaluatedProperties", "items", "additionalItems", "unevaluatedItems", "contains"),
    "propertyNames",  # one for each value
)
_REFERENCES, _ADDRESSES = ("$ref", "$dynamicRef", "$recursiveRef"), ("$id", "id")


class NotChecked(Exception):
    """A value cannot be held against a schema; the message says why."""


class Cost:
    """The bound for one schema. Raises `NotChecked` for one without a bound, or with references that lead outside."""

    def __init__(self, schema: Any) -> None:
        self.root = schema
        self.patterns = 0
        self._has_addresses = self._compares = self._copies = False
        self._known: dict[tuple[int, int], int] = {}
        self._walking: set[tuple[int, int]] = set()
        self._measure()
        self._looks(schema, 0)

    def allows_all(self, value: Any, length: int) -> bool:
        """Whether every place that does not fit may be looked for in a text of so many characters.

        Raises `NotChecked` where not even that there is one may be found out.
        """
        if self.patterns * length > MOST_SEARCHED:
            raise NotChecked("pattern: too many characters for so many of them")
        visits, copies, depth, level = 0, 0, 0, [value]
        while level:
            looks = self._looks(self.root, depth)
            visits += len(level) * looks
            copies += len(level) * looks if self._copies else looks
            if self._compares:
                visits += sum(len(items) ** 2 for items in level if isinstance(items, list)) // _COMPARED
            depth, level = depth + 1, _inside(level)
            if visits > MOST_VISITS:
                raise NotChecked("the schema would be asked too many times")
            if depth > _DEEPEST_VALUE:
                raise NotChecked("nested too deep")
        return visits <= MOST_TOLD and copies * (length + _TOLD) <= MOST_COPIED

    def _measure(self) -> None:
        """Count the schema's values and patterns, as far as is looked at."""
        level, size = [self.root], 0
        for _ in range(DEEPEST):
            size += len(level)
            for node in (value for value in level if isinstance(value, dict)):
                self.patterns += ("pattern" in node) + len(_inside([node.get("patternProperties")]))
                if node is not self.root and any(isinstance(inner, dict | list) for inner in node.values()):
                    self._has_addresses |= any(isinstance(node.get(name), str) for name in _ADDRESSES)
                self._compares |= node.get("uniqueItems") is True
                self._copies |= "propertyNames" in node  # each name that does not fit holds all of its object
            if size > MOST_NODES:
                raise NotChecked(f"the schema holds more than {MOST_NODES:,} values")
            if self.patterns > MOST_PATTERNS:
                raise NotChecked(f"pattern: the schema holds more than {MOST_PATTERNS} of them")
            level = _inside(level)
            if not level:
                return
        raise NotChecked(TOO_DEEP)

    def _looks(self, node: Any, depth: int) -> int:
        """How many schemas look at a value that stands so many steps below what `node` looks at."""
        if not isinstance(node, dict):
            return 1
        key = (id(node), depth)
        if key in self._known:
            return self._known[key]
        if key in self._walking:
            raise NotChecked("its references go round in a circle")
        if len(self._walking) > _LONGEST_WAY:
            raise NotChecked("its references follow each other too long")
        self._walking.add(key)
        here = sum(self._looks(inner, depth) for inner in self._here(node))
        looks = here + (self._below(node, depth - 1) if depth else 1 + len(node) + _written(node))
        if any(name.startswith("unevaluated") for name in node):
            looks *= 2
        self._walking.discard(key)
        self._known[key] = looks
        return looks

    def _here(self, node: dict[str, Any]) -> Iterator[Any]:
        """The schemas that look at the same value."""
        for name in ("allOf", "anyOf", "oneOf"):
            yield from _listed(node.get(name))
        for name in ("not", "if", "then", "else"):
            yield from _mapped({name: node.get(name)})
        for name in ("dependentSchemas", "dependencies"):
            yield from _mapped(node.get(name))
        for name in _REFERENCES:
            if isinstance(node.get(name), str):
                yield self._referred(node[name])

    def _below(self, node: dict[str, Any], depth: int) -> int:
        """How many look at a value that stands one step below, at most."""
        looks = sum(self._looks(node[name], depth) for name in _BELOW if isinstance(node.get(name), dict))
        looks += sum(self._looks(inner, depth) for inner in _mapped(node.get("patternProperties")))
        for one_of_them in (
            _mapped(node.get("properties")),
            _listed(node.get("items")),
            _listed(node.get("prefixItems")),
        ):
            looks += max((self._looks(inner, depth) for inner in one_of_them), default=0)
        return looks

    def _referred(self, reference: str) -> Any:
        """What a path leads to; names and addresses, each of which a draft has in its own way, are not followed."""
        if self._has_addresses:
            raise NotChecked("it holds documents with addresses of their own")
        node, steps = self.root, unquote(reference).split("/")
        for step in steps[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            listed = dict(enumerate(_listed(node)))
            node = node.get(name) if isinstance(node, dict) else listed.get(int(name) if name.isdecimal() else -1)
        if steps[0] != "#" or node is None:
            raise NotChecked(f"it refers to {reference[:100]!r}, which is no path in it, and nothing is fetched")
        return node


def _inside(level: list[Any]) -> list[Any]:
    """What the objects and lists among these values hold."""
    lists = [value.values() if isinstance(value, dict) else _listed(value) for value in level]
    return [inner for values in lists for inner in values]


def _written(node: dict[str, Any]) -> int:
    """What is compared with a value: names that must be there one by one, constants with all that is in them."""
    maps = [names for name in ("dependentRequired", "dependencies") for names in _mapped(node.get(name), list)]
    count, level = 0, [node.get("enum"), node.get("const")]
    while level := _inside(level):
        count += len(level)
    return len(_inside([node.get("required"), *maps])) + count // 8


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapped(value: Any, kind: type = dict) -> list[Any]:
    return [inner for inner in value.values() if isinstance(inner, kind)] if isinstance(value, dict) else []


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
        return NotChecked(TOO_DEEP)


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

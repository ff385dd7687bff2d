"""Schemas that strangers wrote end as a state, soon, and nothing is fetched."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.pace import ends_within
from webapp.contracts.contract import Declaration
from webapp.contracts.held import held_call

WORDS = (
    *("type", "properties", "items", "$ref", "allOf", "anyOf", "oneOf", "not", "if", "required", "enum", "const"),
    *("pattern", "patternProperties", "additionalProperties", "$defs", "$id", "$schema", "$anchor", "$dynamicRef"),
    *("minItems", "maxLength", "multipleOf", "dependencies", "prefixItems", "contains", "unevaluatedProperties"),
)
JUNK: tuple[Any, ...] = (1, -1, 1e308, "", "#", "#/", "object", True, None, "\ud800", "(", "(a+)+$", "(?=x)", 10**50)


def nested(levels: int, word: str = "properties") -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {word: [schema] if word == "allOf" else {"a": schema}}
    return schema


def bomb(levels: int, word: str = "allOf", last: Any = None) -> Any:
    made: dict[str, Any] = {f"a{n}": {word: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**made, f"a{levels}": last or {}}, "$ref": "#/$defs/a0"}


def escaped(schema: Any) -> Any:
    """With references that are written as in an address."""
    return json.loads(json.dumps(schema).replace("#/$defs", "#/%24defs"))


def named(levels: int, word: str) -> Any:
    """The bomb with references by names, which drafts give in different ways."""
    sign = "" if word == "$anchor" else "#"
    schema = json.loads(json.dumps(bomb(levels)).replace("#/$defs/", "#"))
    return schema | {"$defs": {name: {word: f"{sign}{name}"} | inner for name, inner in schema["$defs"].items()}}


def tree(branches: int) -> Any:
    each = [{"properties": {"a": {"$ref": "#"}}, "required": [f"no{n}"]} for n in range(branches)]
    return {"anyOf": each}


def inside(levels: int) -> str:
    return '{"a": ' * levels + "1" + "}" * levels


def junk(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if depth > 3 or kind < 0.4:
        return chance.choice(JUNK)
    if kind < 0.8:
        return {chance.choice(WORDS): junk(chance, depth + 1) for _ in range(chance.randint(0, 5))}
    return [junk(chance, depth + 1) for _ in range(chance.randint(0, 4))]


TOO_OFTEN = "the schema would be asked too many times"


@pytest.mark.parametrize(
    ("schema", "raw", "reason"),
    [
        (bomb(60), "{}", TOO_OFTEN),
        (bomb(60, "anyOf"), "{}", TOO_OFTEN),
        (tree(5), inside(40), TOO_OFTEN),
        ({"$ref": "#"}, "{}", "its references go round in a circle"),
        (
            {"$ref": "http://127.0.0.1:9/x"},
            "{}",
            "it refers to 'http://127.0.0.1:9/x', which is no path in it, and nothing is fetched",
        ),
        ({"$ref": "#/$defs/gone"}, "{}", "it refers to '#/$defs/gone', which is no path in it, and nothing is fetched"),
        (escaped(bomb(60)), "{}", TOO_OFTEN),
        (named(60, "id"), "{}", "it holds documents with addresses of their own"),
        (named(60, "$id"), "{}", "it holds documents with addresses of their own"),
        (named(60, "$anchor"), "{}", "it refers to '#a0', which is no path in it, and nothing is fetched"),
        (nested(1000), "{}", "the schema is nested more than 200 levels deep"),
        (nested(150, "allOf"), "{}", "the schema is nested more than 200 levels deep"),
        ({"enum": list(range(20_000))}, "1", "the schema holds more than 10,000 values"),
        ({"pattern": "(?<=a"}, '"a"', 'pattern: the engine does not take "(?<=a"'),
        ({"pattern": r"^(?:(a|aa)+)(?!x)\1c$"}, f'"{"a" * 400}"', "pattern: it took too many steps"),
        ({"anyOf": [{"pattern": r"^(?:(a|aa)+)(?!x)\1c$"}]}, f'"{"a" * 400}"', "pattern: it took too many steps"),
        ({"pattern": "((a{99}){99}){99}"}, '"a"', 'pattern: the engine does not take "((a{99}){99}){99}"'),
        (
            {"properties": {str(n): {"pattern": "a"} for n in range(101)}},
            "{}",
            "pattern: the schema holds more than 100 of them",
        ),
        (
            {"patternProperties": {f"[ab]{{{n}}}c": True for n in range(101)}},
            "{}",
            "pattern: the schema holds more than 100 of them",
        ),
        ({"type": "dict"}, "{}", None),
        ("object", "{}", "the schema is a str, no object"),
        ({"type": "array"}, "[" * 700 + "]" * 700, "nested too deep"),
        ({"uniqueItems": True}, str(list(range(5000))), TOO_OFTEN),
        ({"items": {"required": [f"a{number}" for number in range(3000)]}}, str([{}] * 3000), TOO_OFTEN),
        ({"items": {"dependentRequired": {"a": ["b"] * 3000}}}, str([{}] * 3000), TOO_OFTEN),
        ({"items": {"enum": [[0] * 90 + [n] for n in range(90)]}}, str([[0] * 90 + [-1]] * 2000), TOO_OFTEN),
        ({"propertyNames": {"enum": ["b"] * 9000}}, json.dumps({f"a{n}": 1 for n in range(3000)}), TOO_OFTEN),
        (
            {"allOf": [{"pattern": f"[ab]*a[ab]{{{n + 100}}}cd"} for n in range(100)]},
            f'"{"abbaababbb" * 10_000}c"',
            "pattern: too many characters for so many of them",
        ),
        ({}, "1" * 5000, None),
    ],
)
def test_what_is_too_much_is_not_checked_and_says_why(schema: Any, raw: str, reason: str | None) -> None:
    def hold() -> None:
        contract = held_call(raw, "t", Declaration.of({"tools": [{"name": "t", "schema": schema}]}))
        assert contract.state == "not_checked" and contract.reason
        assert reason is None or contract.reason == reason

    assert ends_within(1.0, hold)


@pytest.mark.parametrize(
    ("schema", "raw", "state"),
    [
        ({"pattern": "^(a+)+$"}, f'"{"a" * 50_000}b"', "schema_mismatch"),
        ({"pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}, '"12.34"', "kept"),
        (tree(2), inside(12), "schema_mismatch"),
        (nested(90), inside(90), "schema_mismatch"),
        (bomb(10), "{}", "kept"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "{" + '"a": {' * 80 + "}" * 81, "kept"),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True},
            "1",
            "schema_mismatch",
        ),
        ({"minimum": 1, "exclusiveMinimum": True}, "1", "schema_mismatch"),
        ({"items": [{"type": "string"}]}, "[1]", "schema_mismatch"),
        ({"$schema": "http://example.org/mine", "type": "string"}, "1", "schema_mismatch"),
        ({"type": "string"}, '"\\ud800"', "kept"),
        (
            {"contentMediaType": "application/json", "$schema": "http://json-schema.org/draft-07/schema#"},
            '"no"',
            "kept",
        ),
        ({"properties": {"contentEncoding": {"type": "string"}}}, '{"contentEncoding": 1}', "schema_mismatch"),
        ({"type": "string", "enum": ["a"], "nullable": True}, "null", "kept"),
        ({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"examples": [{"id": "a1"}]}}}, "[1]", "kept"),
        ({"anyOf": [{"type": "string"}], "nullable": True}, "null", "kept"),
        (
            {"items": {"$ref": "#/$defs/a", "nullable": True}, "$defs": {"a": {"type": "STRING"}}},
            "[null, 1]",
            "schema_mismatch",
        ),
    ],
)
def test_what_looks_hostile_and_is_not_is_held(schema: Any, raw: str, state: str) -> None:
    assert held_call(raw, "t", Declaration.of({"tools": [{"name": "t", "schema": schema}]})).state == state


@pytest.mark.parametrize("schema", [{"propertyNames": {"maxLength": 9}}, bomb(8, "anyOf", {"type": "string"})])
def test_misfits_of_a_large_value_take_little_memory(schema: Any) -> None:
    """Each would hold a copy of the value: a thousand of two megabytes."""
    raw = json.dumps({"ab" * 1000 + str(number): 1 for number in range(1000)})

    def hold() -> None:
        told = held_call(raw, "t", Declaration.of({"tools": [{"name": "t", "schema": schema}]}))
        assert [mismatch.keyword for mismatch in told.mismatches] == ["schema"]

    assert ends_within(1.0, hold)


def test_made_schemas_each_end_as_a_state() -> None:
    chance = random.Random(31)
    for _ in range(1500):
        schema = junk(chance)
        contract = held_call(
            inside(chance.randint(0, 5)), "t", Declaration.of({"tools": [{"name": "t", "schema": schema}]})
        )
        assert contract.state in ("kept", "schema_mismatch", "not_checked"), schema
        assert (contract.state == "not_checked") == (contract.reason is not None)

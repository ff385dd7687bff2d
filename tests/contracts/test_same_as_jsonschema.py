"""Two thousand made schemas and values: broken at the same places, by the same keywords, as jsonschema says."""

from __future__ import annotations

import json
import random

from jsonschema import Draft202012Validator

from tests.contracts import made
from webapp.contracts import held_call
from webapp.contracts.declared import Declaration
from webapp.contracts.shapes import path_text


def test_the_same_mismatches() -> None:
    chance, states = random.Random(31), {"kept": 0, "schema_mismatch": 0}
    for _ in range(2000):
        schema, value = made.schema(chance), made.value(chance)
        schema = {"allOf": [schema]} if isinstance(schema, bool) else schema
        errors = Draft202012Validator(schema).iter_errors(value)
        expected = {(path_text(error.absolute_path), error.validator) for error in errors}
        contract = held_call(json.dumps(value), "t", Declaration.of({"tools": [{"name": "t", "schema": schema}]}))
        assert {(one.path, one.keyword) for one in contract.mismatches} == expected, (schema, value)
        assert contract.is_broken == bool(expected)
        assert all(one.span is not None for one in contract.mismatches)
        states[contract.state] += 1
    assert min(states.values()) > 400

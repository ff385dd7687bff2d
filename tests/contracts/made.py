"""Schemas and values made by chance, a mix that fits and does not fit."""

from __future__ import annotations

import random
from typing import Any

KEYS = ("a", "b", "name", "file_path", "x y", "é")
LEAVES: tuple[Any, ...] = (
    *({"type": "string"}, {"type": "integer"}, {"type": "number", "minimum": 0}, {"type": "boolean"}, {}, True),
    *({"enum": ["eco", "biz", 1, None]}, {"type": ["string", "null"]}, {"const": "k"}, {"format": "date"}),
    *({"type": "string", "pattern": "^[a-z]+$"}, {"type": "string", "maxLength": 3}, {"exclusiveMaximum": 5}),
    {"multipleOf": 2},
)
VALUES = ("", "a", "eco", "abcd", 0, 1, 2, 7, -1, 1.5, 2.0, True, False, None, "k", 10**20)


def schema(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if depth > 2 or kind < 0.35:
        return chance.choice(LEAVES)
    if kind < 0.65:
        keys = chance.sample(KEYS, chance.randint(0, 4))
        made: dict[str, Any] = {"type": "object", "properties": {key: schema(chance, depth + 1) for key in keys}}
        made["required"] = chance.sample(keys, chance.randint(0, len(keys)))
        made["additionalProperties"] = chance.choice([False, True, schema(chance, depth + 1)])
        return made
    if kind < 0.8:
        return {"type": "array", "items": schema(chance, depth + 1), **chance.choice([{}, {"uniqueItems": True}])}
    word = chance.choice(["anyOf", "oneOf", "allOf"])
    return {word: [schema(chance, depth + 1) for _ in range(chance.randint(1, 3))]}


def value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if depth > 3 or kind < 0.6:
        return chance.choice(VALUES)
    if kind < 0.85:
        return {key: value(chance, depth + 1) for key in chance.sample(KEYS, chance.randint(0, 4))}
    return [value(chance, depth + 1) for _ in range(chance.randint(0, 3))]

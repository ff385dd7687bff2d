"""Made failures: JSON values, each damaged in one known way and put in one known place."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_WORDS = ["alpha", "beta", "gamma", "delta", "the", "quick", "brown", "fox", "over", "path/to", "file.py", "done"]
_KEYS = ["tool", "arguments", "items", "name", "path", "n", "note"]


class Made(NamedTuple):
    """A response, what was damaged in it, and where its value stands."""

    raw: str
    defect: str
    place: str


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(count))


def _value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if depth == 0 or (kind < 0.3 and depth < 3):
        return {key: _value(chance, depth + 1) for key in chance.sample(_KEYS, chance.randint(2, 4))}
    if kind < 0.45 and depth < 3:
        return [_value(chance, depth + 1) for _ in range(chance.randint(2, 4))]
    if kind < 0.75:
        return _words(chance, chance.randint(1, 8))
    return chance.randint(0, 10 ** chance.randint(1, 6)) if kind < 0.9 else chance.choice([True, False, None])


Damage = Callable[[Any, random.Random], str]
DEFECTS: dict[str, Damage] = {
    "extra closer": lambda value, chance: json.dumps(value) + "}" * chance.randint(1, 2),
    "trailing comma": lambda value, _: json.dumps(value)[:-1] + ",}",
    "python": lambda value, _: repr({**value, "ok": True}),
    "line break": lambda value, _: json.dumps({**value, "code": "a\nb"}).replace("\\n", "\n"),
    "quote": lambda value, _: json.dumps({**value, "code": "say @hi@ now"}).replace("@", '"'),
    "comment": lambda value, _: "{ // note\n" + json.dumps(value)[1:],
    "bare keys": lambda value, _: "{" + ", ".join(f"{key}: {json.dumps(of)}" for key, of in value.items()) + "}",
    "no comma": lambda value, _: (
        json.dumps({**value, "z": 1, "y": 2}).replace("1, ", "1\n", 1)
        if "1, " not in json.dumps(value)
        else json.dumps({"z": 1, "y": 2}).replace(",", "\n")
    ),
    "placeholder": lambda _, chance: "{" + chance.choice(_WORDS[:4]) + "} {" + chance.choice(_WORDS[:4]) + "}",
    "valid": lambda value, _: json.dumps(value),
    "doubled braces": lambda value, _: re.sub(r"[{}]", lambda match: 2 * match[0], json.dumps(value)),
}


def made(count: int, seed: int = 1) -> Iterator[Made]:
    """So many responses, always the same for a seed."""
    chance = random.Random(seed)
    for _ in range(count):
        defect, place = chance.choice(list(DEFECTS)), chance.choice(["alone", "fenced", "in prose"])
        text = DEFECTS[defect](_value(chance), chance)
        if place == "fenced":
            text = f"```json\n{text}\n```"
        elif place == "in prose":
            text = f"Sure, here is {_words(chance, 4)}:\n\n{text}\n\nLet me know, {_words(chance, 5)}."
        yield Made(text, defect, place)

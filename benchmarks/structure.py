"""One structural character of sound JSON doubled, deleted or replaced: how often the value comes back, else a flag.

Run from the checkout: `PYTHONPATH=. python benchmarks/structure.py [count]`. `json_repair` runs beside it where it is
installed. Characters are those outside of strings, and the quotes round them.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from webapp.parsing import Trace, parse

WORDS = ("alpha", "in Oslo", "a, b", "x: y", "https://x.y/z", "it's", "", "{name}", "[1]", "9", "he said so")
TWINS = {"{": "[", "[": "{", "}": "])", "]": "})", '"': "'`", ",": ";:.", ":": ";,="}
"""What a character is mistaken for."""
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


def document(chance: random.Random, depth: int = 0) -> Any:
    """A value of the kinds that tool calls and answers hold."""
    pick = chance.random()
    if depth and pick < 0.45:
        return chance.choice((*WORDS, 1, -2.5, 0, True, None, 40))
    if pick < 0.62 and depth:
        return [document(chance, depth + 1 + (depth > 2) * 5) for _ in range(chance.randint(0, 3))]
    keys = chance.sample(
        ("name", "arguments", "id", "tags", "x", "notes", "items", "ok", "path", "n"), chance.randint(1, 4)
    )
    return {key: document(chance, depth + 1) if depth < 4 else chance.choice(WORDS) for key in keys}


def marks(text: str) -> list[int]:
    """Where the structural characters of sound JSON stand."""
    places: list[int] = []
    for match in TOKEN.finditer(text):
        places += [match.start(), match.end() - 1] if match[0][0] == '"' else [match.start()]
    return places


def mutations(kind: str, count: int, seed: int = 11) -> list[tuple[str, Any, str]]:
    """`(text, value, character)` for each; a mutation that is sound JSON itself is left out."""
    chance = random.Random(seed)
    made: list[tuple[str, Any, str]] = []
    while len(made) < count:
        value = document(chance)
        text = json.dumps(value, indent=chance.choice((None, None, 2)))
        at = chance.choice(marks(text))
        new = chance.choice(TWINS[text[at]]) if kind == "replaced" else text[at] * 2 * (kind == "doubled")
        broken = text[:at] + new + text[at + 1 :]
        try:
            json.loads(broken)
        except ValueError:
            made.append((broken, value, text[at]))
    return made


def flagged(trace: Trace) -> bool:
    """Whether a trace says by itself that its value may not be all of it."""
    failed = any(attempt.outcome == "failed" or attempt.strategy == "leftover" for attempt in trace.attempts[1:])
    return trace.ambiguous or trace.truncated or failed or not trace.values


def fencepost(text: str) -> tuple[Any, bool]:
    trace = parse(text)
    return (trace.values[0] if len(trace.values) == 1 else list(trace.values)), flagged(trace)


def rival() -> Callable[[str], tuple[Any, bool]] | None:
    try:
        from json_repair import repair_json
    except ImportError:
        return None
    return lambda text: (repair_json(text, return_objects=True), False)


def main(count: int) -> None:
    for name, read in (("fencepost", fencepost), ("json_repair", rival())):
        for kind in ("doubled", "deleted", "replaced"):
            if read:
                _report(name, kind, mutations(kind, count), read)


def _report(name: str, kind: str, cases: list[tuple[str, Any, str]], read: Callable[[str], tuple[Any, bool]]) -> None:
    wrong: Counter[str] = Counter()
    silent = 0
    for text, value, character in cases:
        given, said = read(text)
        if json.dumps(given) != json.dumps(value):
            wrong[character] += 1
            silent += not said
    print(
        f"{name:12} {kind}: {len(cases) - wrong.total()} of {len(cases)}, wrong without a flag: {silent}, {dict(wrong)}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 600)

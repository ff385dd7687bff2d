"""What strangers' schemas cost, and what a call costs that is held against a schema that was compiled before.

    python -m benchmarks.schemas [--schemas 20000] [--seed 1]

Schemas are made at random of JSON Schema's words, its drafts, references and junk; a call with made arguments is held
against each, which must end as a state. Prints one JSON document: how many ended as which state, processor time of one
(median, 99th percentile, most, in ms), by how many MB the process grew, and the median µs of a call whose schema was
seen before, beside `json.loads` of its arguments.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import statistics
import time
from collections import Counter
from typing import Any

from tests.contracts.made import schema, value
from tests.contracts.test_hostile import junk
from webapp.contracts.contract import Declaration
from webapp.contracts.held import held_call

SEEN = 2_000
"""calls of a tool whose schema was compiled before"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemas", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    strangers, states = timed(chance, options.schemas)
    print(json.dumps({"states": states, "schema": strangers, "call": seen_before()}, indent=1))


def timed(chance: random.Random, count: int) -> tuple[dict[str, float], dict[str, int]]:
    gc.disable()  # a collection falls upon any of them, and takes longer than most
    states, milliseconds = Counter[str](), list[float]()
    held_call("{}", "t", declared({"type": "object"}))  # the validator is imported
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(count):
        made = junk(chance) if chance.random() < 0.7 else schema(chance)
        raw = json.dumps(value(chance))
        begun = time.process_time()
        states[held_call(raw, "t", declared(made)).state] += 1
        milliseconds.append(1000 * (time.process_time() - begun))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    last = statistics.quantiles(milliseconds, n=100)[-1]
    most = {"median_ms": statistics.median(milliseconds), "p99_ms": last, "most_ms": max(milliseconds)}
    return {name: round(number, 3) for name, number in most.items()} | {"grown_mb": round(grown / 1024, 1)}, states


def seen_before() -> dict[str, float]:
    text, number, choice = {"type": "string"}, {"type": "integer", "minimum": 1}, {"enum": ["one", "two"]}
    properties = {"origin": text, "destination": text, "passengers": number, "class": choice}
    declaration = declared({"type": "object", "properties": properties, "required": ["origin"]})
    raw = json.dumps({"origin": "OSL", "destination": "BGO", "passengers": 2, "class": "one"})
    held, loaded = list[float](), list[float]()
    for _ in range(SEEN):
        begun = time.perf_counter()
        held_call(raw, "t", declaration)
        held.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        json.loads(raw)
        loaded.append(time.perf_counter() - begun)
    named = {"held_us": held, "json_loads_us": loaded}
    return {name: round(1e6 * statistics.median(seconds), 1) for name, seconds in named.items()}


def declared(made: Any) -> Declaration | None:
    return Declaration.of({"tools": [{"name": "t", "schema": made}]})


if __name__ == "__main__":
    main()

"""Error rates of the contract states: a fault put into real calls and answers that keep their contract, and taken out.

Run from the checkout, with the corpus beside it: `python -m benchmarks.contract_twins [twins]` measures and writes the
second table of docs/findings.md. Whether a fault breaks the schema is jsonschema's judgement, not ours.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.twins import DOCS, sessions
from webapp.contracts.held import Holder
from webapp.dumps.records import Turn, changed

HEAD = "| state | fault | twins | precision | recall |\n|---|---|---|---|---|\n"
OTHER_VALUES: tuple[Any, ...] = ("two", 7, True, None, [], {"unknown": 1})
LONG = {"type": "object", "properties": {str(number): {"type": "string"} for number in range(11_000)}}
DEEP: dict[str, Any] = {"type": "object"}
for _ in range(300):
    DEEP = {"type": "object", "properties": {"in": DEEP}}
NO_SCHEMAS = ({"$ref": "https://example.com/tool.json"}, {"type": "object", "properties": "none"}, LONG, DEEP)
Twin = tuple[Turn, Turn]


def schema_of(turn: Turn) -> dict[str, Any]:
    """What a turn's own request declares of it; empty where that is nothing."""
    declared = turn.declared or {}
    if turn.kind == "response":
        return (declared.get("response_format") or {}).get("schema") or {}
    return next((tool.get("schema") for tool in declared.get("tools", []) if tool["name"] == turn.agent), None) or {}


def state(turn: Turn) -> str | None:
    (contract,) = Holder().answer([turn])
    return None if contract is None else contract.state


def kept_turns(folder: Path) -> list[Turn]:
    """The real calls and answers that keep a schema of their own request, of objects with members."""
    every = [turn for _, turns in list(sessions(folder)) for turn in turns if turn.written_by_model and turn.declared]
    typed = [turn for turn in every if schema_of(turn).get("type") == "object"]  # Google's types jsonschema cannot read
    kept = [turn for turn in typed if schema_of(turn).get("properties") and state(turn) == "kept"]
    return [turn for turn in kept if isinstance(json.loads(turn.raw or ""), dict)]


def mismatched(turn: Turn, chance: random.Random) -> Turn:
    """The turn with another type, a member less, or one too many, where jsonschema says that it does not fit."""
    from jsonschema.validators import validator_for  # here: two seconds that whoever collects tests need not pay

    value, schema = json.loads(turn.raw or ""), schema_of(turn)
    broken: list[Any] = [{key: inner for key, inner in value.items() if key != left_out} for left_out in value]
    broken += [value | {key: other} for key in schema["properties"] for other in OTHER_VALUES]
    broken += [value | {"unknown": 1}, [value], "a text"]
    validator = validator_for(schema)(schema)
    return changed(turn, raw=json.dumps(chance.choice([one for one in broken if not validator.is_valid(one)])))


def no_json(turn: Turn, chance: random.Random) -> Turn:
    text = (turn.raw or "").rstrip()
    broken = (text[: chance.randint(1, len(text) - 1)], text + "}", text.replace('"', "'"), f"{text},", f"Here: {text}")
    return changed(turn, raw=chance.choice(broken))


def misnamed(turn: Turn, chance: random.Random) -> Turn:
    name = turn.agent or ""
    return changed(
        turn, agent=chance.choice((f"{name}s", name[:-1], f"functions.{name}", name.upper() + "_2", "made_up"))
    )


def undeclared(turn: Turn, chance: random.Random) -> Turn:
    names = {"tools": "tool_choice", "response_format": "max_tokens"}
    others = {name: value for name, value in (turn.declared or {}).items() if name not in names}
    return changed(turn, declared=chance.choice((None, others, {"max_tokens": 9})))


def unusable(turn: Turn, chance: random.Random) -> Turn:
    schema = chance.choice(NO_SCHEMAS)
    if turn.kind == "response":
        return changed(turn, declared={"response_format": {"type": "json_schema", "schema": schema}})
    return changed(turn, declared={"tools": [{"name": turn.agent, "schema": schema}]})


def alone(turn: Turn, chance: random.Random) -> Turn:
    return turn


FAULTS: dict[str, tuple[str, Callable[[Turn, random.Random], Turn], Callable[[Turn, random.Random], Turn]]] = {
    "kept": ("none; the twin has one of those below", alone, mismatched),
    "invalid_json": ("cut, a closer too many, other quotes, a comma, words before it", no_json, alone),
    "unknown_name": ("a name that is not declared, near and far", misnamed, alone),
    "schema_mismatch": ("another type, a member left out, one too many", mismatched, alone),
    "not_declared": ("a request that declares nothing of it", undeclared, alone),
    "not_checked": ("a schema elsewhere, of no meaning, too long, too deep", unusable, alone),
}
"""of each state what brings it about, and what takes it out again"""


def measured(name: str, pool: list[Turn], twins: int) -> tuple[float, float]:
    """Precision and recall of a state over so many twins."""
    chance, hits, alarms = random.Random(name), 0, 0
    _, fault, mended = FAULTS[name]
    if name == "unknown_name":  # where the request chooses the tool, another one breaks that instead
        pool = [turn for turn in pool if turn.kind == "tool_call" and "tool_choice" not in (turn.declared or {})]
    for _ in range(twins):
        turn = chance.choice(pool)
        hits += state(fault(turn, chance)) == name
        other = chance.choice((mismatched, no_json)) if name == "kept" else mended
        alarms += state(other(turn, chance)) == name
    return hits / max(1, hits + alarms), hits / twins


def main(twins: int) -> None:
    pool = kept_turns(Path("../shared/corpus"))
    measure = partial(measured, pool=pool, twins=twins)
    rows = ""
    for name, (words, *_) in FAULTS.items():
        precision, recall = measure(name)
        rows += f"| `{name}` | {words} | {twins:,} | {100 * precision:.1f} % | {100 * recall:.1f} % |\n"
    print(len(pool), "calls and answers that keep a schema\n" + rows)
    DOCS.write_text(re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: HEAD + rows, DOCS.read_text()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)

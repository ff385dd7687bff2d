"""Made requests in six dialects: broken where jsonschema says so of the raw request, and their twins are kept."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.contracts import compared
from tests.contracts.dialects import DIALECTS, contracts
from webapp.dumps.reading import read
from webapp.dumps.records import Turn


def test_states_paths_and_keywords_are_those_of_jsonschema_and_the_twins_of_broken_calls_are_kept() -> None:
    found = compared(400, 31)
    assert found["differences"] == 0, found["first"]
    assert found["twins"] > 120 and found["found_to_fit"] > 80
    assert all(len(states) == 3 for states in found["states"].values()), found["states"]


def test_a_declaration_holds_for_its_own_request(tmp_path: Path) -> None:
    one, other = {"required": ["a"]}, {"required": ["b"]}
    lines = [DIALECTS[0]([("t", schema)], "t", {"b": n}) for n, schema in enumerate((one, other, one, other))]
    lines.append({"request": {"messages": [{"role": "user", "content": "x"}]}, "response": lines[0]["response"]})
    states = [contract.state for contract in contracts(tmp_path / "scoped.jsonl", lines)]
    assert states == ["schema_mismatch", "kept", "schema_mismatch", "kept", "not_declared"]


def test_the_same_declarations_are_one_object(tmp_path: Path) -> None:
    path = tmp_path / "same.jsonl"
    lines = [DIALECTS[0]([("t", {"required": ["a"]})], "t", {"n": n}) for n in range(20)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    declared = {id(record.declared) for record in read(path, path.name) if isinstance(record, Turn) and record.declared}
    assert len(declared) == 1

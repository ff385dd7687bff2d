"""Made requests in six dialects: broken where jsonschema says so of the raw request, and their twins are kept."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.contracts import made
from tests.contracts.dialects import DIALECTS, Tools
from webapp.contracts import Contract
from webapp.contracts.shapes import path_text
from webapp.contracts.turns import Holder
from webapp.dumps import Turn, read

REQUESTS = 60
"""of each dialect, each with a declaration of its own"""


def contracts(path: Path, lines: list[dict[str, Any]]) -> list[Contract]:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    holder = Holder()
    turns = [record for record in read(path, path.name) if isinstance(record, Turn)]
    held = [one for turn in turns for one in holder.answer([turn]) if one is not None]
    assert len(held) == len(lines)
    return held


def errors(schema: Any, value: Any) -> set[tuple[str, str]]:
    return {
        (path_text(error.absolute_path), error.validator) for error in Draft202012Validator(schema).iter_errors(value)
    }


def request(chance: random.Random, number: int) -> tuple[Tools, Any]:
    """Two tools, the second with a schema of its own, and arguments for it."""
    schema = made.schema(chance)
    schema = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    value = {"v": made.value(chance), "n": number} if chance.random() < 0.9 else {"n": number}
    return [("other", {"type": "object"}), ("t", schema)], value


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_is_broken_where_jsonschema_says_so_of_the_raw_request(dialect: Any, tmp_path: Path) -> None:
    chance = random.Random(31)
    requests = [request(chance, number) for number in range(REQUESTS)]
    lines = [dialect(tools, "t", value) for tools, value in requests]
    held = contracts(tmp_path / "calls.jsonl", lines)
    for contract, (tools, value) in zip(held, requests, strict=True):
        assert {(one.path, one.keyword) for one in contract.mismatches} == errors(tools[1][1], value), (tools, value)
    assert {contract.state for contract in held} == {"kept", "schema_mismatch"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_twin_of_a_broken_call_is_kept(dialect: Any, tmp_path: Path) -> None:
    chance = random.Random(32)
    requests = [request(chance, number) for number in range(REQUESTS)]
    broken = [(tools, value) for tools, value in requests if errors(tools[1][1], value)]
    twins = [dialect([tools[0], ("t", {"type": "object"})], "t", value) for tools, value in broken]
    unknown = [dialect(tools, "tt", value) for tools, value in broken]
    lines = [dialect(tools, "t", value) for tools, value in broken]
    assert {contract.state for contract in contracts(tmp_path / "twins.jsonl", twins)} == {"kept"}
    assert {contract.state for contract in contracts(tmp_path / "broken.jsonl", lines)} == {"schema_mismatch"}
    assert {contract.state for contract in contracts(tmp_path / "unknown.jsonl", unknown)} == {"unknown_name"}


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

"""The examples show what their README says of them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.dumps.conftest import gather
from webapp.contracts.held import Holder
from webapp.parsing import parse

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".json", ".jsonl"))


def verdicts(name: str, profile: str) -> list[str]:
    turns = gather(FOLDER / name, name).only
    written = [turn for turn in turns if turn.written_by_model and turn.duplicate_of is None]
    return [parse(turn.raw or "", profile).verdict for turn in written]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_example_is_read_without_a_problem(path):
    found = gather(path, path.name)
    assert len(found.starts) == 1
    assert found.problems == []
    assert all(turn.sent_at is None or turn.sent_at.year == 2025 for turn in found.only)


def test_the_readme_names_every_example():
    assert set(re.findall(r"`([\w-]+\.jsonl?)`", (FOLDER / "README.md").read_text())) == {path.name for path in FILES}


def test_closers_too_many_are_failed_at_home_and_read_by_the_next_version():
    name = "agent-never-ran-its-code.json"
    assert verdicts(name, "windlass-strict") == ["none", "failed", "none", "none", "failed", "none", "none"]
    assert verdicts(name, "windlass-balanced").count("repaired") == 2
    turns = gather(FOLDER / name, name).only
    assert len(turns) == 52
    assert not [turn for turn in turns if turn.kind == "tool_result"]
    assert sorted({turn.phase for turn in turns if turn.kind == "response"}) == [
        "report",
        "solve",
        "understand",
        "verify",
    ]


def test_twenty_two_errors_are_eleven_failures_of_eleven_responses():
    name = "python-taken-for-tool-calls.json"
    errors = [turn for turn in gather(FOLDER / name, name).only if turn.kind == "error"]
    assert Counter(turn.duplicate_of is None for turn in errors) == {True: 11, False: 11}
    assert len({turn.answers for turn in errors}) == 11
    assert Counter(turn.sounding for turn in errors) == {0: 8, 1: 8, 2: 6}


def test_a_conversation_with_its_tools_breaks_their_contract():
    turns = gather(FOLDER / "flights-off-their-contract.json", "flights-off-their-contract.json").only
    held = Holder().answer([turn for turn in turns if turn.kind == "tool_call"])
    assert [contract.state for contract in held] == [
        *("schema_mismatch", "kept", "unknown_name", "schema_mismatch", "kept"),
    ]
    assert [one.path for one in held[0].mismatches] == ["$.passengers", "$.cabin", "$", "$"]


def test_the_circle_loses_a_model():
    name = "three-models-in-a-circle.json"
    assert verdicts(name, "fire-circle").count("failed") == 1
    turns = [turn for turn in gather(FOLDER / name, name).only if turn.kind == "response"]
    assert [Counter(turn.round for turn in turns)[number] for number in (1, 2, 3)] == [3, 3, 2]


def test_the_plans_and_the_evaluation():
    assert verdicts("plans-among-log-lines.json", "master-scored") == ["extracted", "extracted", "failed", "extracted"]
    found = verdicts("evaluation-with-raw-newlines.json", "four-tier")
    assert found == ["clean", "extracted", "repaired", "repaired", "failed"]


def test_the_clean_session_is_clean():
    assert set(verdicts("support-desk-clean.jsonl", "direct")) == {"clean"}

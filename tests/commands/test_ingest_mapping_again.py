"""`fencepost ingest --map` again with another mapping, and what is said where answers are missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.stored import Run

LINES = """{"run": "s1", "wrong": {"a": 1}, "right": "A text that a model said, of some length."}
{"run": "s1", "wrong": {"b": 2}, "right": "Another text that the model said afterwards."}
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log.jsonl").write_text(LINES)
    return tmp_path / "log.jsonl"


def test_a_mapping_that_finds_no_answer_is_the_answer_no_with_the_paths_of_texts(run: Run, log: Path) -> None:
    done = run("ingest", "--map", "raw=$.nothing", "--map", "session=$.run", str(log))
    assert done.exit_code == 1
    assert done.stdout.startswith("▲ ")
    assert "answers missing" in done.stdout
    assert "texts at $.right" in done.stderr
    assert json.loads(run("ingest", "--json", str(log)).stdout)["files"][0]["answers_missing"] is True


def test_a_corrected_mapping_replaces_what_the_wrong_one_read(run: Run, log: Path) -> None:
    run("ingest", "--map", "raw=$.nothing", "--map", "session=$.run", str(log))
    done = run("ingest", "--map", "raw=$.right", "--map", "session=$.run", str(log))
    assert (done.exit_code, done.stdout) == (0, f"● {log}: mapped, 1 session (1 new), 2 new turns\n")
    assert "all there already" in run("ingest", "--map", "raw=$.right", "--map", "session=$.run", str(log)).stdout
    again = json.loads(run("ingest", "--json", str(log)).stdout)["files"][0]
    assert (again["sessions"], again["dump"]["session_count"], again["answers_missing"]) == (["s1"], 1, False)
    entries = json.loads(run("dump", "--stdout", "s1").stdout)["entries"]
    assert [entry["right"][:7] for entry in entries] == ["A text ", "Another"]


def test_a_kept_dump_is_read_again_by_another_mapping(run: Run, log: Path) -> None:
    run("ingest", "--map", "raw=$.nothing", "--map", "session=$.run", str(log))
    done = run("ingest", "--again", "--map", "raw=$.right", "log")
    assert done.exit_code == 0
    files = json.loads(run("ingest", "--json", str(log)).stdout)["files"]
    assert files[0]["sessions"] == ["log"]


def test_a_dry_run_by_a_mapping_shows_three_turns(run: Run, log: Path) -> None:
    log.write_text(LINES * 3)
    done = run("ingest", "--dry-run", "--map", "raw=$.right", str(log))
    assert done.stdout.splitlines()[1:] == [
        "  response: A text that a model said, of some length.",
        "  response: Another text that the model said afterwards.",
        "  response: A text that a model said, of some length.",
    ]

"""`fencepost replay`: another profile over what is stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.stored import BROKEN, Run, dump, runner


@pytest.fixture
def run(tmp_path: Path, data: Path) -> Run:
    run = runner(data)
    run("ingest", str(dump(tmp_path / "a.json", "s1", "{}", BROKEN)), str(dump(tmp_path / "b.json", "s2", "{}")))
    return run


def test_verdicts_are_counted(run: Run) -> None:
    done = run("replay", "--profile", "windlass-balanced")
    assert done.exit_code == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert " ".join(rows[0]) == "windlass-balanced 2: 3 responses, 3 of them parsed now"
    assert rows[1:4] == [["●", "clean", "0"], ["○", "extracted", "0"], ["◆", "repaired", "1"]]
    assert "1 of the failed responses can be read by " in done.stdout


def test_one_session_as_json(run: Run) -> None:
    answer = json.loads(run("replay", "--profile", "direct", "--session", "s2", "--json").stdout)
    assert (answer["profile"], answer["state"], answer["counts"]["responses"]) == ("direct", "done", 1)


def test_what_is_refused(run: Run) -> None:
    for arguments, code, message in [
        (["--profile", "no"], 2, "no profile is called 'no'"),
        ([], 2, "name one profile: fencepost replay PROFILE"),
        (["--profile", "direct", "--verdict", "good"], 2, "verdict takes clean, extracted"),
        (["--profile", "direct", "--session", "no"], 1, "no session has the id 'no'"),
    ]:
        done = run("replay", *arguments)
        assert done.exit_code == code
        assert message in done.stderr


def test_filters_narrow_it_and_what_was_run_is_not_run_again(run: Run) -> None:
    failed = json.loads(run("replay", "--profile", "direct", "--failed", "--json").stdout)
    assert (failed["scope"], failed["counts"]["responses"], failed["new"]) == ({"filters": {"failed": 1}}, 2, 2)
    everything = json.loads(run("replay", "--profile", "direct", "--json").stdout)
    assert (everything["counts"]["responses"], everything["new"]) == (3, 1)


def test_a_parser_that_cannot_be_imported_is_named_with_the_reason(run: Run) -> None:
    done = run("replay", "no_such_module:parse")
    assert done.exit_code == 1
    assert "no_such_module:parse cannot run, since no_such_module:parse could not be imported" in done.stderr


def test_again_parses_what_this_version_parsed(run: Run) -> None:
    counts = [json.loads(run("replay", "direct", *again, "--json").stdout) for again in ((), (), ("--again",))]
    assert [count["new"] for count in counts] == [3, 0, 3]
    assert counts[0]["counts"] == counts[1]["counts"] == counts[2]["counts"]

"""`fencepost replay`: another profile over what is stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.stored import BROKEN, Run, dump, runner


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = runner(tmp_path / "data")
    run("ingest", str(dump(tmp_path / "a.json", "s1", "{}", BROKEN)), str(dump(tmp_path / "b.json", "s2", "{}")))
    return run


def test_verdicts_are_counted(run: Run) -> None:
    done = run("replay", "--profile", "windlass-balanced")
    assert done.exit_code == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["windlass-balanced", "1:", "3", "responses"]
    assert rows[1:4] == [["●", "clean", "0"], ["○", "extracted", "0"], ["◆", "repaired", "1"]]
    assert "of those that failed in production, 1 rescued" in done.stdout


def test_one_session_as_json(run: Run) -> None:
    answer = json.loads(run("replay", "--profile", "direct", "--session", "s2", "--json").stdout)
    assert (answer["profile"], answer["state"], answer["counts"]["responses"]) == ("direct", "done", 1)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--profile", "no"], 2, "no profile is called 'no'"),
        ([], 2, "Missing option '--profile'"),
        (["--profile", "direct", "--session", "no"], 1, "no session has the id 'no'"),
    ],
)
def test_what_is_refused(run: Run, arguments: list[str], code: int, message: str) -> None:
    done = run("replay", *arguments)
    assert done.exit_code == code
    assert message in done.stderr

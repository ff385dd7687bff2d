"""`fencepost dump`: a session as one JSON document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.stored import BROKEN, Run, dump, runner


@pytest.fixture
def run(tmp_path: Path, data: Path) -> Run:
    run = runner(data)
    run("ingest", str(dump(tmp_path / "a.json", "a/b", "{}", BROKEN)))
    return run


def test_the_file_is_written(run: Run, tmp_path: Path) -> None:
    done = run("dump", "a/b")
    path, _, said = done.stdout.rstrip().partition(": ")
    assert (done.exit_code, said) == (0, "2 entries")
    assert json.loads(Path(path).read_text())["session_id"] == "a/b"


def test_json_answers_as_the_api(run: Run, tmp_path: Path) -> None:
    answer = json.loads(run("dump", "a/b", "--json").stdout)
    assert (answer["success"], answer["entry_count"]) == (True, 2)
    assert (tmp_path / "data" / answer["dump_path"]).is_file()


def test_the_document_on_standard_output_comes_back_unchanged(run: Run) -> None:
    document = run("dump", "a/b", "--stdout").stdout
    assert [entry["content"] for entry in json.loads(document)["entries"]] == ["{}", BROKEN]
    again = run("ingest", "-", given=document.encode())
    assert "all there already" in again.stdout


def test_a_reader_that_stops_early_ends_it_quietly(data: Path, run: Run, tmp_path: Path) -> None:
    run("ingest", str(dump(tmp_path / "long.json", "long", *(f"{n} " * 20_000 for n in range(20)))))
    command = [sys.executable, "-m", "webapp", "dump", "--stdout", "long"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "FENCEPOST_DATA": str(data)}
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.read(5)
        process.stdout.close()
        assert process.stderr.read() == b""


def test_no_such_session(run: Run) -> None:
    done = run("dump", "no")
    assert (done.exit_code, done.stderr) == (1, "Error: no session has the id 'no'\n")


def test_stdout_and_json_are_refused_together(run: Run) -> None:
    assert run("dump", "a/b", "--stdout", "--json").exit_code == 2

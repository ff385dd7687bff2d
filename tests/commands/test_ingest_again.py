"""`fencepost ingest` again: kept dumps read anew, with another mapping, and what is said where answers are missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.stored import Run, dump


@pytest.fixture
def known(run: Run, tmp_path: Path) -> list[str]:
    """The hashes of two ingested dumps, `one.json` and `two.json`, whose files are gone."""
    paths = [dump(tmp_path / f"{name}.json", name, "{}") for name in ("one", "two")]
    files = json.loads(run("ingest", "--json", *map(str, paths)).stdout)["files"]
    for path in paths:
        path.unlink()
    return [file["dump"]["sha256"] for file in files]


def test_all_kept_dumps_are_read_again_the_newest_first(run: Run, known: list[str]) -> None:
    done = run("ingest", "--again", COLUMNS="200")
    assert done.exit_code == 0
    one, two = (f"{name}.json ({sha256[:12]})" for name, sha256 in zip(("one", "two"), known, strict=True))
    assert done.stdout.splitlines()[:2] == [
        f"· {two}: windlass, 1 session, all there already",
        f"· {one}: windlass, 1 session, all there already",
    ]
    assert done.stdout.splitlines()[-1] == "2 files read"


def test_some_are_chosen_by_hash_or_name(run: Run, known: list[str]) -> None:
    for prefix, filename in ((known[0][:10], "one.json"), ("tw", "two.json")):
        (file,) = json.loads(run("ingest", "--again", "--json", prefix).stdout)["files"]
        assert (file["dump"]["filename"], file["created"], file["error"]) == (filename, False, None)


def test_none_begins_so(run: Run, known: list[str]) -> None:
    done = run("ingest", "--again", "three", "one")
    assert done.exit_code == 1
    refused, carried_not = done.stderr.splitlines()
    assert refused == "✕ three: no log's hash or file name begins with this"
    assert carried_not.startswith(
        "  this log does not carry: declared tools and response format, token cap, stop reason"
    )
    assert "one.json" in done.stdout


def test_a_file_that_was_removed_is_said_and_the_rest_is_read(run: Run, known: list[str], tmp_path: Path) -> None:
    (tmp_path / "data" / "dumps" / f"{known[1]}.zst").unlink()
    done = run("ingest", "--again", "--json")
    assert done.exit_code == 1
    gone, there = json.loads(done.stdout)["files"]
    assert gone["error"]["code"] == "not_kept"
    assert there["dump"]["filename"] == "one.json"


def test_where_nothing_is_kept_nothing_is_read(run: Run) -> None:
    done = run("ingest", "--again")
    assert (done.exit_code, done.stderr) == (1, "no log is kept here yet\n")


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

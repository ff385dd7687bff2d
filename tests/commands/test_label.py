"""`fencepost label`: judge a response, list what was judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.stored import BROKEN, Run, dump, runner


@pytest.fixture
def run(tmp_path: Path, data: Path) -> Run:
    run = runner(data)
    run("ingest", str(dump(tmp_path / "a.json", "list", "{}", BROKEN)))
    return run


def test_a_response_is_judged_and_listed(run: Run) -> None:
    done = run("label", "put", "list", "1", "missed", "--cause", "extra-closing", "--note", "two", "--author", "ann")
    assert (done.exit_code, done.stdout) == (0, "list 1: missed, said ann\n")
    assert run("label", "list").stdout == "list 1: missed · extra-closing · two · ann\n"
    (label,) = json.loads(run("label", "list", "--json").stdout)
    assert [label[name] for name in ("session", "position", "judgement")] == ["list", 1, "missed"]
    assert (label["cause"], label["expects"], label["preview"]) == ("extra-closing", None, BROKEN)


def test_put_may_be_left_out(run: Run, tmp_path: Path) -> None:
    run("ingest", str(dump(tmp_path / "b.json", "s2", BROKEN)))
    done = run("label", "s2", "0", "wrong", "--expected", '{"a": [1]}', "--author", "ann", "--json")
    label = json.loads(done.stdout)
    assert (label["session"], label["judgement"], label["expected"]) == ("s2", "wrong", {"a": [1]})


def test_the_author_is_the_systems_user_otherwise(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "cem")
    assert run("label", "put", "list", "1", "unsure").stdout == "list 1: unsure, said cem\n"


def test_what_is_refused(run: Run) -> None:
    for arguments, code, message in [
        (["no", "0", "missed"], 1, "no session has the id 'no'"),
        (["put", "list", "9", "missed"], 1, "has no turn 9"),
        (["put", "list", "1", "missed", "--author", " "], 1, "an author is a name"),
        (["put", "list", "1", "bad"], 2, "'bad' is not one of"),
        (["put", "list", "x", "missed"], 2, "'x' is not a valid integer"),
        (["put", "list", "1", "missed", "--expected", "{"], 2, "--expected takes JSON"),
        (["put", "list", "1", "missed", "--expected", "9" * 5000], 2, "--expected takes JSON: Exceeds the limit"),
    ]:
        done = run("label", *arguments)
        assert done.exit_code == code
        assert message in done.stderr


def test_a_list_of_many(run: Run, tmp_path: Path) -> None:
    run("ingest", str(dump(tmp_path / "b.json", "many", *(f"{{{number}" for number in range(5)))))
    for number in range(5):
        run("label", "many", str(number), "missed", "--author", "ann")
    assert [line.split(":")[0] for line in run("label", "list").stdout.splitlines()] == [
        f"many {number}" for number in reversed(range(5))
    ]


def test_labels_are_taken_back(run: Run, tmp_path: Path) -> None:
    run("label", "put", "list", "1", "missed", "--expected", "[1]", "--author", "ann")
    run("label", "put", "list", "1", "wrong", "--author", "bob")
    as_list = run("label", "list", "--json").stdout
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in json.loads(as_list)))
    other = runner(tmp_path / "other")
    other("ingest", str(dump(tmp_path / "a.json", "list", "{}", BROKEN)))
    assert other("label", "import", str(file)).stdout == "2 new, 0 changed, 0 as they were\n"
    assert other("label", "list", "--json").stdout == as_list
    file.write_text(as_list)
    assert json.loads(other("label", "import", str(file), "--json").stdout)["same"] == 2


def test_rows_that_cannot_be_placed_are_named_by_line(run: Run) -> None:
    done = run("label", "import", "-", given=b'\n{"raw_sha256": "00"}\n{\n7\n')
    assert done.exit_code == 1 and done.stdout == "0 new, 0 changed, 0 as they were\n"
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["line 2", "line 3", "line 4"]

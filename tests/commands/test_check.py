"""`fencepost check` as CI runs it: exit codes, reports, a workflow's lines, a database, and what is used wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.commands.stored import Run, dump
from tests.gate.made import CASES, write
from tests.store.made import BROKEN, CALL
from webapp.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments], catch_exceptions=False)


def test_a_gate_from_the_first_run_to_a_regression(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "cases.jsonl")
    ours = ("--profile", "fencepost", "--labels", "cases.jsonl")
    first = check(*ours)
    assert first.exit_code == 1 and "baseline created: fencepost-baseline.jsonl" in first.output
    assert "review and commit it" in first.output and first.output.endswith("failed\n")
    assert check(*ours).output.endswith("passed\n") and check(*ours).exit_code == 0

    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    outputs = ("-o", "r.json", "-o", "r.xml", "-o", "r.md")
    worse = check("--profile", "direct", "--labels", "cases.jsonl", *outputs)
    assert worse.exit_code == 1 and "fenced: right before, missed now" in worse.output
    assert "\n::error title=Fencepost regression::fenced: right before" in worse.output
    assert json.loads((folder / "r.json").read_text())["counts"]["regression"] == 2
    assert 'failures="3"' in (folder / "r.xml").read_text()
    assert (folder / "summary.md").read_text() == (folder / "r.md").read_text()
    assert "| `fenced` | right | missed |" in (folder / "r.md").read_text()
    assert json.loads(check(*ours, "--json").output)["verdict"] == "passed"

    (folder / "allowed.jsonl").write_text('{"id": "fenced", "reason": "on purpose"}\n{"id": "comma", "reason": "so"}\n')
    allowed = ("--profile", "direct", "--labels", "cases.jsonl", "--allow", "allowed.jsonl")
    assert check(*allowed).exit_code == 0 and "(allowed: on purpose)" in check(*allowed).output
    assert check(*allowed, "--strict").exit_code == 1
    assert check(*allowed, "--update").output.endswith("baseline updated: fencepost-baseline.jsonl\npassed\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--profile", "nobody", "--labels", "cases.jsonl"], "no profile is called 'nobody'"),
        (["--profile", "fencepost", "--labels", "missing.jsonl"], "missing.jsonl"),
        (["--profile", "fencepost", "--labels", "twice.jsonl"], "twice.jsonl, line 2: the id 'a' is on line 1"),
        (["--profile", "fencepost", "--labels", "cases.jsonl", "-o", "x.txt"], "-o takes .json, .xml, .md"),
        (["--profile", "fencepost", "--labels", "cases.jsonl", "--failed"], "--labels is a file"),
        (["--profile", "fencepost", "--labels", "cases.jsonl", "--allow", "cases.jsonl"], '"id" and "reason"'),
        (["--profile", "fencepost", "--labels", "empty.jsonl"], "there is no response to check"),
    ],
)
def test_wrong_use_exits_with_2_and_says_what(folder: Path, arguments: list[str], words: str) -> None:
    write(folder / "cases.jsonl")
    write(folder / "twice.jsonl", [{"id": "a", "text": "1"}] * 2)
    write(folder / "empty.jsonl", [])
    result = check(*arguments)
    assert (result.exit_code, words in result.output) == (2, True), result.output
    assert not (folder / "fencepost-baseline.jsonl").exists()


def test_a_database_gives_its_labelled_responses(run: Run, data: Path, folder: Path, monkeypatch: Any) -> None:
    assert run("ingest", str(dump(folder / "dump.json", "s", CALL, BROKEN, "nothing"))).exit_code == 0
    meant = {"tool": "run_code", "arguments": {"code": "1"}}
    for position in "01":
        told = ("label", "s", position, "right", "--expected", json.dumps(meant), "--author", "Ada")
        assert run(*told).exit_code == 0
    exported = run("label", "export", "--format", "gate").stdout_bytes
    url = f"sqlite:///{data / 'fencepost.sqlite3'}"
    monkeypatch.setenv("FENCEPOST_DATA", str(data))
    first = check("--profile", "fencepost", "--database", url)
    assert first.exit_code == 1 and "2 responses, 2 labelled" in first.output
    worse = check("--profile", "windlass-strict", "--database", url)
    assert worse.exit_code == 1 and "regression 1:" in worse.output
    assert (
        "3 responses, 2 labelled"
        in check("--profile", "fencepost", "--database", url, "--format", "windlass", "--update").output
    )
    (folder / "cases.jsonl").write_bytes(exported)
    assert [json.loads(line)["expected"] for line in exported.splitlines()] == [[meant], [meant]]
    result = check("--profile", "fencepost", "--labels", "cases.jsonl", "--baseline", "other.jsonl")
    assert "2 responses, 2 labelled" in result.output and len(CASES) == 5

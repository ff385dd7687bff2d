"""`fencepost ingest` of folders, patterns and named standard input, and `--dry-run`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests import forking
from tests.commands.stored import BROKEN, Run, dump, runner


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return runner(tmp_path / "data")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with two dumps (one compressed, one further down) among other files."""
    folder = tmp_path / "logs"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / ".git").mkdir()
    dump(folder / "b.json", "s-b", "{}")
    dump(folder / ".git" / "hidden.json", "s-hidden", "{}")
    (folder / "deep" / "er" / "a.json.gz").write_bytes(gzip.compress(dump(tmp_path / "a", "s-a", BROKEN).read_bytes()))
    (folder / "notes.bin").write_bytes(b"\x7fELF" + bytes(100))
    (folder / "empty.json").touch()
    (folder / "broken link.json").symlink_to(tmp_path / "nowhere")
    return folder


def test_a_folder_is_read_in_order_and_what_is_no_dump_is_passed_over(run: Run, logs: Path) -> None:
    done = run("ingest", str(logs), COLUMNS="200")
    assert done.exit_code == 0
    said = done.stdout.splitlines()
    assert said[0] == f"● {logs / 'b.json'}: windlass, 1 session (1 new), 1 new turn"
    assert said[1] == f"● {logs / 'deep' / 'er' / 'a.json.gz'}: windlass, 1 session (1 new), 1 new turn"
    assert said[-1] == "2 files read, 2 skipped"
    assert f"– {logs / 'empty.json'}: skipped. the log is empty\n" in done.stderr
    assert f"– {logs / 'notes.bin'}: skipped. The log is not JSON" in done.stderr
    assert "fencepost ingest --map" not in done.stderr
    assert "hidden" not in done.stdout + done.stderr


def test_what_is_passed_over_leaves_no_trace(run: Run, logs: Path, tmp_path: Path) -> None:
    done = run("ingest", "--json", str(logs))
    document = json.loads(done.stdout)
    assert [file["dump"]["filename"] for file in document["files"]] == ["b.json", "deep/er/a.json.gz"]
    assert [Path(skipped["file"]).name for skipped in document["skipped"]] == ["empty.json", "notes.bin"]
    kept = [path.stem for path in (tmp_path / "data" / "dumps").iterdir() if path.is_file()]
    assert sorted(kept) == sorted(file["dump"]["sha256"] for file in document["files"])
    assert run("ingest", "--json", str(logs)).exit_code == 0


def test_a_file_that_was_named_and_is_no_dump_is_an_error(run: Run, logs: Path) -> None:
    done = run("ingest", str(logs), str(logs / "notes.bin"))
    assert done.exit_code == 1
    assert f"✕ {logs / 'notes.bin'}: The log is not JSON" in done.stderr


def test_a_damaged_dump_in_a_folder_is_an_error_and_the_rest_is_read(run: Run, logs: Path) -> None:
    (logs / "a.json").write_text('{"session_id": "s", "entries": 1}')
    done = run("ingest", str(logs))
    assert done.exit_code == 1
    assert f"✕ {logs / 'a.json'}: entries: expected a list, found a number (at entries)" in done.stderr
    assert "2 files read, 2 skipped, 1 could not be read" in done.stdout


def test_a_folder_without_any_dump_is_a_no(run: Run, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    done = run("ingest", str(tmp_path / "none"))
    assert (done.exit_code, done.stderr) == (1, "no file was found\n")


@pytest.mark.parametrize(
    ("pattern", "files"),
    [("*.json", ["b.json", "broken link.json", "empty.json"]), ("**/*.gz", ["a.json.gz"]), ("de*", ["er/a.json.gz"])],
)
def test_patterns_that_the_shell_did_not_expand(run: Run, logs: Path, pattern: str, files: list[str]) -> None:
    document = json.loads(run("ingest", "--json", str(logs / pattern)).stdout)
    assert document["skipped"] == []
    assert [file.get("dump", {}).get("filename") or Path(file["file"]).name for file in document["files"]] == files


def test_a_pattern_that_nothing_matches_and_a_file_with_brackets_in_its_name(run: Run, logs: Path) -> None:
    done = run("ingest", str(logs / "*.none"))
    assert done.exit_code == 1
    assert "No such file" in done.stderr
    assert run("ingest", str(dump(logs / "run[1].json", "s1", "{}"))).exit_code == 0


def test_standard_input_with_a_name(run: Run, tmp_path: Path) -> None:
    given = b'[{"role": "user", "content": "hello"}]'
    document = json.loads(run("ingest", "--json", "--name", "run-17.json", "-", given=given).stdout)
    assert document["files"][0]["sessions"] == ["run-17"]
    assert document["files"][0]["dump"]["filename"] == "run-17.json"


def test_a_dry_run_says_what_is_there_and_writes_nothing(run: Run, logs: Path, tmp_path: Path) -> None:
    (logs / "c.json").write_text('{"session_id": "s", "entries": [1, {"node_type": "agent", "content": "{}"}]}')
    done = run("ingest", "--dry-run", str(logs), COLUMNS="200")
    assert done.exit_code == 0
    assert f"● {logs / 'c.json'}: windlass, 1 session, 1 turn, 1 problem" in done.stdout
    assert "entries[0]: expected an object, found a number" in done.stderr
    assert "3 files read, 2 skipped" in done.stdout
    assert not (tmp_path / "data").exists()


def test_a_dry_run_as_json(run: Run, logs: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    done = run("ingest", "--dry-run", "--json", str(logs / "b.json"), str(bad))
    assert done.exit_code == 1
    document = json.loads(done.stdout)
    assert document["dry_run"] is True
    good, failed = document["files"]
    assert good == {
        "file": str(logs / "b.json"),
        "error": None,
        "format": "windlass",
        "bytes": (logs / "b.json").stat().st_size,
        "sessions": ["s-b"],
        "turns": 1,
        "problems": [],
        "problem_count": 0,
        "preview": [{"kind": "response", "text": "{}"}],
        "answers_missing": False,
        "session_keys": None,
        "not_in_log": ["declared", "cap", "stop", "host", "tokens_in", "tokens_out", "tokens_reasoning"],
    }
    assert set(failed["error"]) == {"code", "message", "at"}
    assert not (tmp_path / "data").exists()


def test_a_bar_is_drawn_on_a_terminal_and_only_on_standard_error(tmp_path: Path, data: Path) -> None:
    path = dump(tmp_path / "a.json", "s1", *["{}"] * 1000)
    environ = {"FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": "", "COLUMNS": "200"}
    with forking.Terminal("ingest", str(path), handles="2", **environ) as terminal:
        drawn = terminal.read()
        printed, _ = terminal.process.communicate()
    assert printed == f"● {path}: windlass, 1 session (1 new), 1,000 new turns\n"
    assert "━━━" in drawn
    assert "1,000 turns read" in drawn
    assert str(path.stat().st_size // 1000) in drawn


def test_no_bar_is_drawn_where_a_terminal_cannot_erase_it(tmp_path: Path, data: Path) -> None:
    environ = {"FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": "", "TERM": "dumb"}
    path = str(dump(tmp_path / "a.json", "s1", "{}"))
    with forking.Terminal("ingest", path, "--home", "direct", handles="2", **environ) as terminal:
        assert "\x1b" not in terminal.read()

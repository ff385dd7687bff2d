"""`fencepost ingest` and `formats`: files, databases and standard input, summaries, exit codes."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.commands.stored import BROKEN, Run, dump
from webapp.dumps.reading import known_formats


def test_a_file_is_read_and_summed_up(run: Run, tmp_path: Path) -> None:
    done = run("ingest", str(dump(tmp_path / "a.json", "s1", "{}", BROKEN)))
    assert done.exit_code == 0
    assert done.stdout == f"● {tmp_path / 'a.json'}: windlass, 1 session (1 new), 2 new turns\n"
    again = run("ingest", str(tmp_path / "a.json"))
    assert (again.exit_code, again.stdout) == (0, f"· {tmp_path / 'a.json'}: windlass, 1 session, all there already\n")


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_what_no_response_carries_is_said(run: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run("ingest", *options, str(dump(tmp_path / "a.json", "s1", "{}")))
    facts = "declared tools and response format, token cap, stop reason, provider or host, tokens in"
    assert f"  this log does not carry: {facts}" in done.stderr


def test_what_a_database_s_program_wrote_ahead_is_read(run: Run, tmp_path: Path) -> None:
    path, seen = tmp_path / "live.db", tmp_path / "seen.db"
    said = [("user", "a?"), ("assistant", "b"), ("user", "c?"), ("assistant", "d")]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE messages (role TEXT, content TEXT)")
        for count, row in enumerate(said):
            connection.execute("INSERT INTO messages VALUES (?, ?)", row)
            connection.commit()
            if count == 1:
                connection.execute("PRAGMA wal_checkpoint")
        for ending in ("", "-wal"):
            shutil.copy(f"{path}{ending}", f"{seen}{ending}")
    before = {file.name: file.read_bytes() for file in tmp_path.glob("seen*")}
    assert f"● {seen}: database, 1 session (1 new), 4 new turns" in run("ingest", str(seen)).stdout
    assert run("verify", str(seen)).exit_code == 0
    assert {file.name: file.read_bytes() for file in tmp_path.glob("seen*")} == before
    (tmp_path / "seen.db-wal").rename(tmp_path / "elsewhere")
    (tmp_path / "seen.db-wal").symlink_to(tmp_path / "elsewhere")
    assert "2 turns" in run("ingest", "--dry-run", str(seen)).stdout
    (tmp_path / "seen.db-wal").unlink()
    (tmp_path / "seen.db-wal").write_bytes(b"no such thing")
    assert "2 turns" in run("ingest", "--dry-run", str(seen)).stdout


def test_one_bad_file_does_not_stop_the_rest(run: Run, tmp_path: Path) -> None:
    good, grown = dump(tmp_path / "a.json", "s1", "{}"), dump(tmp_path / "b.json", "s1", "{}", "more")
    bad, missing = tmp_path / "bad.json", tmp_path / "missing.json"
    bad.write_text("not json")
    done = run("ingest", *map(str, (good, bad, missing, grown)), COLUMNS="200")
    assert done.exit_code == 1
    assert f"✕ {bad}: The log is not JSON" in done.stderr
    assert f"✕ {missing}: No such file or directory\n" in done.stderr
    assert "1 session (1 grown), 1 new turn" in done.stdout
    assert done.stdout.splitlines()[-1] == "2 files read, 2 could not be read"


def test_json_says_what_came_of_each_file(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    done = run("ingest", "--json", str(dump(tmp_path / "a.json", "s\0", "{}")), str(bad))
    assert done.exit_code == 1
    good, failed = json.loads(done.stdout)["files"]
    assert (good["error"], good["sessions"], good["created"], good["new"]) == (None, ["s\0"], True, 1)
    assert good["dump"]["state"] == "done"
    assert set(failed["error"]) == {"code", "message", "at"}
    assert done.stderr == ""


def test_standard_input_compressed(run: Run, tmp_path: Path) -> None:
    data = gzip.compress(dump(tmp_path / "a.json", "s1", "{}").read_bytes())
    done = run("ingest", "-", given=data)
    assert (done.exit_code, done.stdout) == (0, "● standard input: windlass, 1 session (1 new), 1 new turn\n")


def test_problems_are_shown_with_their_places(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"session_id": "s1", "entries": [1] * 15 + [{"node_type": "agent", "content": "{}"}]}))
    done = run("ingest", str(path))
    assert done.exit_code == 0
    assert "15 problems" in done.stdout
    assert "entries[0]: expected an object, found a number" in done.stderr
    assert "and 5 problems more" in done.stderr


def test_home_and_format_can_be_told(run: Run, tmp_path: Path) -> None:
    path = str(dump(tmp_path / "a.json", "s1", "{}"))
    assert run("ingest", "--home", "direct", "--format", "windlass", path).exit_code == 0
    listed = run("replay", "--profile", "direct", "--json")
    assert json.loads(listed.stdout)["counts"]["clean"] == 1


def test_wrong_use_exits_with_two(run: Run) -> None:
    for arguments, environment, message in [
        ([], {}, "Missing argument"),
        (["--format", "no", "x"], {}, "there is no format 'no'"),
        (["--home", "no", "x"], {}, "no profile is called 'no'"),
        (["--name", "no", "x"], {}, "--name is for standard input"),
        (["-", "-"], {}, "can be read once only"),
        (["--again", "--dry-run"], {}, "choose one"),
        (["--map", "raw", "x"], {}, "none is called 'raw'"),
        (["--map", "session=$.a", "x"], {}, "no path for raw"),
        (["--map", "raw=$.a", "--map", "who=$.b", "x"], {}, "no field 'who'"),
        (["--map", "raw=$.a", "--format", "windlass", "x"], {}, "without --format"),
        (["--watch", "-"], {}, "--watch is for folders"),
        (["--watch", "--again"], {}, "--watch is for folders"),
        (["--watch"], {}, "Missing argument"),
        (["--watch", "--every", "0", "x"], {}, "--every"),
        (["--again", "--name", "x", "-"], {}, "--name is for standard input"),
        (["x"], {"FENCEPOST_MAX_DUMP": "many"}, "FENCEPOST_MAX_DUMP must be a whole number"),
        (["x"], {"FENCEPOST_DATABASE": "nonsense"}, "FENCEPOST_DATABASE is not a usable database URL"),
        (["x"], {"FENCEPOST_DATABASE": "nosuch://x"}, "FENCEPOST_DATABASE is not a usable database URL"),
    ]:
        done = run("ingest", *arguments, **environment)
        assert done.exit_code == 2
        assert message in done.stderr


def test_a_mapping_is_saved_under_a_name_and_used_by_it(run: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text('{"o": {"t": "one"}, "r": "a"}\n')
    second.write_text('{"o": {"t": "two"}, "r": "b"}\n')
    arguments = ["--map", "raw=o.t", "--map", "session=$.r", "--save-map", "mine", str(first), "--json"]
    assert run("ingest", *arguments).exit_code == 0
    done = run("ingest", "--map", "mine", str(second), "--json")
    (file,) = json.loads(done.stdout)["files"]
    assert file["sessions"] == ["b"] and file["dump"]["mapping"] == {"raw": "o.t", "session": "$.r"}
    overridden = run("ingest", "--map", "mine", "--map", "session=$.o.t", str(second), "--dry-run")
    assert overridden.exit_code == 0 and "1 session" in overridden.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--map", "a", "--map", "b"], "not 'b' too"),
        (["--save-map", "mine"], "--save-map saves"),
        (["--map", "raw=x", "--save-map", "a=b"], "a mapping's name"),
    ],
)
def test_a_bad_use_of_mappings_exits_with_two(run: Run, arguments: list[str], words: str, tmp_path: Path) -> None:
    done = run("ingest", *arguments, str(tmp_path))
    assert done.exit_code == 2 and words in done.output


def test_what_names_the_sessions_is_shown_and_changed(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    answer = {"choices": [{"message": {"role": "assistant", "content": "{}"}}]}
    lines = [{"extra": {"chat_id": f"c{n % 3}"}, "trace_id": f"t{n % 2}", "response": answer, "request": {}}
             for n in range(6)]  # fmt: skip
    log.write_text("\n".join(map(json.dumps, lines)))
    shown = run("ingest", "--dry-run", str(log)).stdout
    assert "openai, 3 sessions" in shown and "sessions by extra.chat_id: 3; --session-key KEY uses another" in shown
    assert "trace_id: 2 sessions, in 6 of 6 entries" in shown
    (file,) = json.loads(run("ingest", "--dry-run", "--session-key", "trace_id", "--json", str(log)).stdout)["files"]
    assert (file["sessions"], file["session_keys"]["key"]) == (["t0", "t1"], "trace_id")
    assert "3 sessions (3 new)" in run("ingest", str(log)).stdout
    assert "2 sessions (2 new)" in run("ingest", "--session-key", "trace_id", str(log)).stdout
    assert "2 sessions" in run("ingest", "--again").stdout
    assert run("ingest", "--session-key", "a", "--map", "raw=$.b", str(log)).exit_code == 2


LINE = json.dumps({"role": "user", "content": "q"}) + "\n" + json.dumps({"role": "assistant", "content": "{}"}) + "\n"


def test_every_format_with_its_shape_and_those_of_a_tool(run: Run) -> None:
    listed = json.loads(run("formats", "--json").stdout)["formats"]
    assert {each["name"]: each["shapes"] for each in listed} == {n: kind.shapes for n, kind in known_formats().items()}
    assert [line.partition(":")[0] for line in run("formats", "google", "adk").stdout.splitlines()] == [
        "adk",
        "adk_eval",
        "adk_events",
    ]
    assert run("formats", "cuneiform").exit_code == 1


def test_dialogue_in_a_folder_that_is_not_read_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "chat.jsonl").write_text(LINE)
    (tmp_path / "LICENSE").write_text("Permission is granted to whom it may concern, free of charge.\n")
    (tmp_path / "odd.yaml").write_text("user: which berth?\nmodel: berth 7, as I said\nuser: thanks\n")
    (tmp_path / "irc.log").write_text("<captain> which berth?\n<bot> berth seven.\n<captain> thanks!\n")
    (tmp_path / "react.txt").write_text("Thought: I look.\nAction: find\nObservation: 7\nFinal Answer: Berth 7\n")
    (tmp_path / "package.json").write_text(
        '{"name": "x", "description": "A bot that answers questions in the harbour."}'
    )
    done = run("ingest", str(tmp_path))
    assert "irc.log: not read, though it seems to be dialogue" in done.stderr and "package.json: not" not in done.stderr
    assert done.exit_code == 1 and "odd.yaml: not read, though it seems to be dialogue" in done.stderr
    assert "react.txt: not read, though it seems to be dialogue" in done.stderr
    assert "LICENSE: not read" not in done.stderr
    assert run("ingest", "--skip-unknown", str(tmp_path)).exit_code == 0
    own = run("ingest", str(tmp_path / "data/fencepost.sqlite3"))
    assert own.exit_code == 1 and "looks like Fencepost's own database" in own.stderr


def test_a_table_of_any_database_is_mapped_as_is_advised(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE calls (run TEXT, asked TEXT, body TEXT)")
    rows = [("r", "which berth?", json.dumps({"reply": "It is berth 7, as far as I know."}))] * 2
    connection.executemany("INSERT INTO calls VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    refused = run("ingest", str(path))
    assert refused.exit_code == 1 and "--map table=calls" in refused.stderr
    mapping = ["--map", "table=calls", "--map", "raw=$.body.reply", "--map", "session=run"]
    done = run("ingest", "--json", *mapping, str(path))
    assert [file["new_turns"] for file in json.loads(done.stdout)["files"]] == [2]
    missing = run("ingest", "--map", "table=berths", "--map", "raw=$.body", str(path))
    assert missing.exit_code == 1 and "no table 'berths'" in missing.stderr


def test_verify_finds_what_was_read_by_a_relative_path(run: Run, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.jsonl").write_text(LINE)
    monkeypatch.chdir(tmp_path)
    run("ingest", "a/x.jsonl")
    assert run("verify", "a/x.jsonl").exit_code == 0

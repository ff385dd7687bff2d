"""`fencepost formats`: what is read, by the words of a tool; and folders with dialogue that is not."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from tests.commands.stored import Run
from webapp.dumps.reading import known_formats

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

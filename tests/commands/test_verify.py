"""`fencepost verify`: nothing is missing of the corpus, and what a broken format loses is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.commands.stored import Run
from webapp.dumps.formats.openai import OpenAi
from webapp.dumps.records import Problem

LONG = "A sentence that a model said and that is long enough to be looked for. " * 4
KEPT_UNREAD = {"edge_cases.jsonl": 1, "agno-2025-06-11.json": 2}
KEPT_UNREAD |= {"log_tool_call_error.json": 1}  # its only session ends in an error, before any answer
"""files with a key that is misspelt, or with texts in spans that no model wrote: places whose texts are in no turn"""
KINDS = ("otlp", "claude_code", "codex", "swe_agent", "inspect_ai", "langfuse", "pydantic_ai")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    messages = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": LONG}]
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    return tmp_path / "log.jsonl"


def test_nothing_of_the_corpus_is_missing(run: Run, shared: Path) -> None:
    folders = [str(shared / "corpus" / kind) for kind in KINDS]
    files = [file for file in json.loads(run("ingest", "--json", *folders).stdout)["files"] if not file["error"]]
    assert len(files) > 15
    strings, unread = 0, {}
    for file in files:
        done = run("verify", "--json", file["file"])
        result = json.loads(done.stdout)
        assert (result["missing"], result["missing_sessions"]) == ([], []), file["file"]
        assert done.exit_code == bool(result["unread"])
        strings += result["strings"]
        unread |= {Path(file["file"]).name: len(result["unread"])} if result["unread"] else {}
    assert unread == KEPT_UNREAD
    assert strings > 1500


def test_what_a_broken_format_loses_is_shown_with_its_place(
    run: Run, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = OpenAi.sessions

    def shortened(self: OpenAi, *arguments: Any) -> Any:
        for session in read(self, *arguments):
            assert not isinstance(session, Problem)
            entries = [entry for entry in session.entries if not isinstance(entry, Problem)]
            short = [(at, {**entry, "content": entry["content"][:10]}) for at, entry in entries]
            yield replace(session, entries=iter(short))

    monkeypatch.setattr(OpenAi, "sessions", shortened)
    run("ingest", str(log))
    monkeypatch.undo()
    done = run("verify", str(log))
    assert done.exit_code == 1
    assert f"session 'log', entry 2 ({len(LONG)} characters): A sentence that a model said" in done.stderr
    assert "✕ 4 texts and entries, 2 not stored" in done.stdout


def test_a_file_that_is_stored_whole(run: Run, log: Path) -> None:
    run("ingest", str(log))
    done = run("verify", str(log))
    assert done.exit_code == 0
    assert "● sessions: 1 in the file, 1 stored" in done.stdout
    assert "· tokens in: none in the file" in done.stdout
    assert "● 4 texts and entries, 0 not stored" in done.stdout


def test_a_file_that_was_not_ingested_and_one_that_is_not_there(run: Run, log: Path) -> None:
    assert run("verify", str(log)).exit_code == 1
    assert run("verify", str(log.parent / "nothing")).exit_code == 2


def body(said: str) -> dict[str, Any]:
    return {"model": "m", "choices": [{"message": {"role": "assistant", "content": said}}], "padding": ["x"] * 60}


def test_json_that_was_a_text_and_is_stored_as_its_value_is_there(run: Run, tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    line = {
        "id": "r",
        "run_type": "llm",
        "trace_id": "t",
        "inputs": "{}",
        "outputs": json.dumps(body("short"), indent=1),
    }
    runs.write_text(json.dumps(line) + "\n")
    run("ingest", str(runs))
    assert run("verify", str(runs)).exit_code == 0


def test_cassettes_and_events_are_compared_by_what_they_hold(run: Run, tmp_path: Path) -> None:
    cassette = tmp_path / "cassette.yaml"
    exchange = {
        "request": {"method": "POST", "uri": "https://api.openai.com/v1/chat/completions", "body": '{"messages": [1]}'},
        "response": {"status": {"code": 200}, "body": {"string": json.dumps(body(LONG))}},
    }
    cassette.write_text(f"interactions:\n- {json.dumps(exchange)}\nversion: 1\n")
    message = {"id": "m", "object": "thread.message", "thread_id": "t", "role": "assistant"}
    content = [{"type": "text", "text": {"value": "short", "annotations": ["x"] * 60}}]
    events = tmp_path / "events.sse"
    events.write_text(f"event: thread.message.completed\ndata: {json.dumps({**message, 'content': content})}\n\n")
    run("ingest", str(cassette), str(events))
    assert run("verify", str(cassette)).exit_code == 0
    assert run("verify", str(events)).exit_code == 0


def test_records_of_a_log_are_compared_by_what_they_say(run: Run, tmp_path: Path) -> None:
    said = f"2026-01-01 12:00:00 INFO llm response: {LONG}\nand {LONG}\n"
    called = f'2026-01-01 12:00:01 INFO call {{"prompt": "{LONG}1", "completion": "{LONG}2"}}\n'
    other = f"2026-01-01 12:00:02 INFO cached {LONG}\n"
    (tmp_path / "run.log").write_text(said + called + other)
    assert run("ingest", str(tmp_path / "run.log")).exit_code == 0
    done = run("verify", "--json", str(tmp_path / "run.log"))
    assert (done.exit_code, [place["at"] for place in json.loads(done.stdout)["unread"]]) == (1, ["line 4"])

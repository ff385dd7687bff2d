"""Databases and archives that people's programs leave behind, made here as those programs make them."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.dumps.conftest import gather
from webapp.dumps import budget
from webapp.dumps.budget import BadDump

ANSWER = 'The answer {"a": 1,}'
CHAT = {"model": "m", "choices": [{"message": {"role": "assistant", "content": ANSWER}}]}


def database(path: Path, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)


def said(path: Path) -> tuple[list[str], list[tuple[str, str | None]]]:
    got = gather(path, path.name)
    assert not got.problems and not got.alarms
    turns = [(turn.kind, turn.raw) for turns in got.turns for turn in turns]
    return [start.external_id for start in got.starts], turns


@pytest.mark.parametrize(
    ("size", "there"), [(60, "it ends after 60 bytes, in its header"), (3000, "3,000 of its 8,192")]
)
def test_a_database_without_its_tables_is_said_to_be_cut(tmp_path, size, there):
    path = tmp_path / "log.db"
    database(path, "answers", ["answer"], [[ANSWER]])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(BadDump, match=f"is cut: {there}.*none of its tables can be read"):
        gather(path, path.name)


def test_crush_keeps_its_sessions_in_tables(tmp_path):
    path = tmp_path / "crush.db"
    parts = [
        {"type": "text", "data": {"text": ANSWER}},
        {"type": "tool_call", "data": {"id": "t", "name": "f", "input": '{"a": 1,}'}},
    ]
    asked = [{"type": "text", "data": {"text": "q"}}]
    columns = ("id", "session_id", "role", "parts", "model", "created_at")
    rows = [
        ("2", "s", "assistant", json.dumps(parts), "gpt", 1767323047),
        ("1", "s", "user", json.dumps(asked), "", 1767323046),
    ]
    database(path, "sessions", ("id", "title"), [("s", "T")])
    database(path, "files", ("id", "content"), [])
    database(path, "messages", columns, rows)
    assert said(path) == (["s"], [("prompt", "q"), ("response", ANSWER), ("tool_call", '{"a": 1,}')])
    turns = gather(path, path.name).turns[0]
    assert turns[1].model == "gpt" and turns[1].sent_at is not None


def test_langchain_keeps_histories_in_sql(tmp_path):
    path = tmp_path / "memory.db"
    human = {"type": "human", "data": {"content": "q", "type": "human"}}
    answer = {"type": "ai", "data": {"content": ANSWER, "type": "ai"}}
    rows = [(1, "s", json.dumps(human)), (2, "t", json.dumps(human)), (3, "s", json.dumps(answer))]
    database(path, "message_store", ("id", "session_id", "message"), [*rows, (4, "t", json.dumps(answer))])
    assert said(path) == (["s", "t"], [("prompt", "q"), ("response", ANSWER)] * 2)


def test_autogen_logs_calls_in_sqlite(tmp_path):
    path = tmp_path / "logs.db"
    request = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
    columns = ("id", "invocation_id", "session_id", "source_name", "request", "response", "start_time")
    row = (1, "i", "s", "agent", json.dumps(request), json.dumps(CHAT), "2026-01-02 03:04:05")
    database(path, "chat_completions", columns, [row])
    assert said(path) == (["s"], [("prompt", "q"), ("response", ANSWER)])


def test_openhands_events_a_file_each_are_one_session(tmp_path):
    path = tmp_path / "conversation.zip"
    events = [
        {"source": "user", "kind": "MessageEvent", "llm_message": {"role": "user", "content": "q"}},
        *({"source": "agent", "kind": "PauseEvent"} for _ in range(9)),
        {"source": "agent", "kind": "MessageEvent", "llm_message": {"role": "assistant", "content": ANSWER}},
    ]
    with zipfile.ZipFile(path, "w") as archive:
        for number, event in reversed(list(enumerate(events))):
            archive.writestr(f"conv/events/event-{number}-x.json", json.dumps({"id": str(number), **event}))
    starts, turns = said(path)
    assert starts == ["conv"]
    assert [turns[0], turns[-1]] == [("prompt", "q"), ("response", ANSWER)] and len(turns) == 11


def test_a_file_whose_number_is_longer_than_python_reads_is_no_event(got):
    archive, event = io.BytesIO(), {"source": "user", "action": "message", "args": {"content": "q"}}
    with zipfile.ZipFile(archive, "w") as members:
        for name in ("1", "2", "9" * 5000):
            members.writestr(f"conv/events/{name}.json", json.dumps(event))
    found = got(archive.getvalue(), "conversation.zip")
    assert [turn.raw for turn in found.only] == ["q", "q"]
    assert [problem.reason for problem in found.problems] == ["not an event; it was left out"]


def test_a_packed_table_of_too_many_rows_is_kept_up_to_there(got, monkeypatch):
    monkeypatch.setattr(budget, "STRICT_RECORDS", 6)
    with budget.reading(budget.Budget(20, is_strict=True)):
        found = got("prompt,response\n" + "q?,an answer\n" * 9, "many.csv")
    assert [turn.raw for turn in found.only][:2] == ["q?", "an answer"]
    assert "it has more than 6 records" in found.problems[-1].reason

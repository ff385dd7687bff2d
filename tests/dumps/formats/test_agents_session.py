"""Sessions of agents in SQLite databases whose tables `formats.toml` names."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from webapp.dumps.records import UnknownFormat

PROMPT = {"role": "user", "content": "berth?"}
ANSWER = {"role": "assistant", "content": "{}"}
CALL = {"type": "function_call", "call_id": "c", "name": "find", "arguments": '{"berth": 7,}'}
PARTS = {"role": "model", "parts": [{"text": "{}"}]}


def database(path: Path, **tables: list[dict[str, Any]]) -> bytes:
    """A database with these tables and rows; objects and lists are stored as JSON."""
    connection = sqlite3.connect(path)
    for name, rows in tables.items():
        connection.execute(f"CREATE TABLE {name} ({', '.join(rows[0])})")
        for row in rows:
            values = [json.dumps(value) if isinstance(value, dict | list) else value for value in row.values()]
            connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", values)
    connection.commit()
    connection.close()
    return path.read_bytes()


def test_the_agents_sdk_keeps_an_item_a_row(got, tmp_path):
    items = [{"id": n, "session_id": "s", "message_data": item} for n, item in enumerate((PROMPT, CALL, ANSWER))]
    found = got(database(tmp_path / "a.db", agent_sessions=[{"session_id": "s"}], agent_messages=items), "a.db")
    assert (found.ids, found.starts[0].source_format) == (["s"], "agents_session")
    assert [turn.kind for turn in found.only] == ["prompt", "tool_call", "response"]


@pytest.mark.parametrize(
    "row",
    [{"session_id": "s", "content": PARTS, "timestamp": 2}, {"session_id": "s", "event_data": {"content": PARTS}}],
    ids=["columns", "one-column"],
)
def test_adk_keeps_an_event_a_row(got, tmp_path, row):
    tables = {"sessions": [{"id": "s"}], "app_states": [{"app_name": "a"}], "events": [row]}
    found = got(database(tmp_path / "a.db", **tables), "a.db")
    assert [(turn.kind, turn.raw, turn.role) for turn in found.only] == [("response", "{}", "assistant")]


@pytest.mark.parametrize("column", ["runs", "memory"])
def test_agno_keeps_runs_in_a_row(got, tmp_path, column):
    runs = [{"messages": [PROMPT, ANSWER]}]
    row = {"session_id": "s", column: runs if column == "runs" else {"runs": [{"response": runs[0]}]}}
    name = "agno_sessions" if column == "runs" else "agent_sessions"
    found = got(database(tmp_path / "a.db", **{name: [row]}), "a.db")
    assert (found.ids, [turn.raw for turn in found.only]) == (["s"], ["berth?", "{}"])


def test_another_database_is_refused_with_its_tables(got, tmp_path):
    with pytest.raises(UnknownFormat, match="'berths'"):
        got(database(tmp_path / "a.db", berths=[{"id": 7}]), "a.db")


def test_a_cut_database_is_read_as_far_as_it_goes(got, tmp_path):
    items = [{"id": n, "session_id": "s", "message_data": {**ANSWER, "content": "word " * 50}} for n in range(400)]
    whole = database(tmp_path / "a.db", agent_sessions=[{"session_id": "s"}], agent_messages=items)
    found = got(whole[: len(whole) // 2], "a.db")
    assert 100 < len(found.only) < 400
    assert [problem.reason.partition(":")[0] for problem in found.problems] == ["the SQLite file is cut"]

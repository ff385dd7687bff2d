"""Goose's database: a session's messages in order, their blocks as JSON text."""

from __future__ import annotations

import json
import sqlite3

from tests.dumps.conftest import gather


def test_messages_are_read_by_session_in_order(tmp_path):
    with sqlite3.connect(tmp_path / "sessions.db") as database:
        database.execute("CREATE TABLE schema_version (version)")
        database.execute("CREATE TABLE sessions (id, description)")
        database.execute("CREATE TABLE messages (id, session_id, role, content_json, created_timestamp)")
        database.execute("INSERT INTO sessions VALUES ('s', 'Plans')")
        call = {"type": "toolRequest", "id": "c", "toolCall": {"value": {"name": "shell", "arguments": {"a": 1}}}}
        rows = [
            (3, "s", "assistant", "cut [", 1759000003),
            (2, "s", "assistant", json.dumps([{"type": "text", "text": '{"plan": [1,]}'}, call]), 1759000002),
            (1, "s", "user", json.dumps([{"type": "text", "text": "plan?"}]), 1759000001),
        ]
        database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", rows)
    found = gather(tmp_path / "sessions.db", "sessions.db")
    assert [(start.external_id, start.title, start.source_format) for start in found.starts] == [
        ("s", "Plans", "goose")
    ]
    assert [(turn.kind, turn.raw) for turn in found.only] == [
        ("prompt", "plan?"),
        ("response", '{"plan": [1,]}'),
        ("tool_call", '{"a":1}'),
        ("response", "cut ["),
    ]
    assert [problem.at for problem in found.problems] == ["messages, row 3"]
    assert found.only[1].sent_at is not None

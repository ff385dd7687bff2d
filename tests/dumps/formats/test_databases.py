"""Databases of programs whose exports have cases: OpenCode's, Open WebUI's, AutoGen Studio's, and others."""

from __future__ import annotations

import json
import sqlite3

import pytest

from tests.dumps.conftest import gather


def test_opencode_joins_messages_and_parts(tmp_path):
    with sqlite3.connect(tmp_path / "opencode.db") as database:
        database.execute("CREATE TABLE session (id, title)")
        database.execute("CREATE TABLE message (id, session_id, time_created, data)")
        database.execute("CREATE TABLE part (id, message_id, session_id, data)")
        database.execute("INSERT INTO session VALUES ('s', 'Plans')")
        messages = [("m2", "s", 2, {"role": "assistant", "modelID": "m"}), ("m1", "s", 1, {"role": "user"})]
        rows = [(*row[:3], json.dumps(row[3])) for row in messages]
        database.executemany("INSERT INTO message VALUES (?, ?, ?, ?)", [*rows, ("m3", "s", 3, "cut {")])
        state = {"status": "completed", "input": {"a": 1}, "output": "ok"}
        parts = [
            ("p3", "m2", {"type": "tool", "tool": "read", "callID": "c", "state": state}),
            ("p2", "m2", {"type": "text", "text": "A plan."}),
            ("p1", "m1", {"type": "text", "text": "plan?"}),
        ]
        database.executemany("INSERT INTO part VALUES (?, ?, 's', ?)", [(a, b, json.dumps(c)) for a, b, c in parts])
    found = gather(tmp_path / "opencode.db", "opencode.db")
    assert [(start.external_id, start.title) for start in found.starts] == [("s", "Plans")]
    assert [(turn.kind, turn.raw, turn.model) for turn in found.only] == [
        ("prompt", "plan?", None),
        ("response", "A plan.", "m"),
        ("tool_call", '{"a":1}', "m"),
        ("tool_result", "ok", None),
    ]
    assert [problem.at for problem in found.problems] == ["message m3"]


def test_open_webui_keeps_chats_as_json(tmp_path):
    nodes = {
        "a": {"id": "a", "parentId": None, "childrenIds": ["b"], "role": "user", "content": "plan?"},
        "b": {"id": "b", "parentId": "a", "childrenIds": [], "role": "assistant", "content": "A plan.", "model": "m"},
    }
    with sqlite3.connect(tmp_path / "webui.db") as database:
        for table in ("user", "auth"):
            database.execute(f"CREATE TABLE {table} (id)")
        database.execute("CREATE TABLE chat (id, title, chat, created_at)")
        chat = json.dumps({"history": {"messages": nodes, "currentId": "b"}})
        database.execute("INSERT INTO chat VALUES ('c', 'Plans', ?, 1)", (chat,))
    found = gather(tmp_path / "webui.db", "webui.db")
    assert [(start.external_id, start.title) for start in found.starts] == [("c", "Plans")]
    assert [(turn.kind, turn.raw) for turn in found.only] == [("prompt", "plan?"), ("response", "A plan.")]


def test_autogen_studio_keeps_messages_as_json(tmp_path):
    spent = {"prompt_tokens": 3, "completion_tokens": 2}
    messages = [
        {"source": "user", "models_usage": None, "content": "plan?", "type": "TextMessage"},
        {"source": "a", "content": [{"id": "c", "name": "t", "arguments": "{}"}], "type": "ToolCallRequestEvent"},
        {"source": "a", "content": [{"call_id": "c", "name": "t", "content": "ok"}], "type": "ToolCallExecutionEvent"},
        {"source": "a", "models_usage": spent, "content": "A plan.", "type": "TextMessage"},
    ]
    with sqlite3.connect(tmp_path / "studio.db") as database:
        for table in ("run", "session", "team"):
            database.execute(f"CREATE TABLE {table} (id)")
        database.execute("CREATE TABLE message (id, session_id, config)")
        rows = [(number, json.dumps(message)) for number, message in enumerate(messages)]
        database.executemany("INSERT INTO message VALUES (?, 1, ?)", rows)
    found = gather(tmp_path / "studio.db", "studio.db")
    assert [(turn.kind, turn.raw, turn.agent) for turn in found.only] == [
        ("prompt", "plan?", "user"),
        ("tool_call", "{}", "t"),
        ("tool_result", "ok", "t"),
        ("response", "A plan.", "a"),
    ]


ROWS = {
    "promptfoo": (
        "eval_results",
        ("id", "eval_id", "prompt", "provider", "response"),
        [("x", "e", {"raw": "plan?"}, {"id": "m"}, {"output": "A plan."})],
    ),
    "trulens": (
        "trulens_records",
        ("record_id", "app_id", "input", "output", "ts"),
        [("r", "a", '"plan?"', '"A plan."', 1.0)],
    ),
    "voltagent": (
        "voltagent_memory_messages",
        ("conversation_id", "message_id", "role", "parts"),
        [
            ("c", "1", "user", [{"type": "text", "text": "plan?"}]),
            ("c", "2", "assistant", [{"type": "text", "text": "A plan."}]),
        ],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_columns_of_json_are_opened(name, tmp_path):
    table, columns, rows = ROWS[name]
    with sqlite3.connect(tmp_path / "kept.db") as database:
        database.execute("CREATE TABLE evals (id)")
        database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        cells = [[json.dumps(cell) if isinstance(cell, dict | list) else cell for cell in row] for row in rows]
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", cells)
    found = gather(tmp_path / "kept.db", "kept.db")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("prompt", "plan?"), ("response", "A plan.")]

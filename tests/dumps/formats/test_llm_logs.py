"""The log of llm: conversations of the older tables with tools, threads of the newer ones; nothing of the file runs."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.dumps.conftest import gather
from webapp.dumps.opening import opened
from webapp.dumps.records import UnknownFormat
from webapp.dumps.sqlite_tables import opened_tables

OLD = """
CREATE TABLE conversations (id TEXT, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT, model TEXT, prompt TEXT, system TEXT, response TEXT, conversation_id TEXT,
    datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER);
CREATE TABLE tool_calls (id INTEGER, response_id TEXT, name TEXT, arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER, response_id TEXT, name TEXT, output TEXT, tool_call_id TEXT);
INSERT INTO conversations VALUES ('c', 'Plan', 'm');
INSERT INTO responses VALUES ('1', 'm', 'weather?', 'Be brief.', '', 'c', '2026-03-01T10:00:00', 5, 2);
INSERT INTO responses VALUES ('2', 'm', '', NULL, '{"plan": [1,]}', 'c', '2026-03-01T10:00:01', 6, 3);
INSERT INTO tool_calls VALUES (1, '1', 'f', '{"a": }', 'x');
INSERT INTO tool_results VALUES (1, '2', 'f', 'sunny', 'x');
"""
NEW = """
CREATE TABLE threads (id TEXT, name TEXT, tip_message_hash TEXT);
CREATE TABLE turns (id TEXT, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT, model TEXT,
    datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER);
CREATE TABLE messages (hash TEXT, parent_hash TEXT, role TEXT);
CREATE TABLE parts (id INTEGER, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT, text TEXT,
    payload TEXT);
INSERT INTO threads VALUES ('t', 'Plan', 'd');
INSERT INTO turns VALUES ('1', 't', 'a', 'b', 'm', '2026-03-01T10:00:00', 5, 2), ('2', 't', 'c', 'd', 'm', NULL, 6, 3);
INSERT INTO messages VALUES ('a', NULL, 'user'), ('b', 'a', 'assistant'), ('c', 'b', 'user'), ('d', 'c', 'assistant');
INSERT INTO parts VALUES (1, 'a', 0, 'text', NULL, 'plan?', NULL), (2, 'b', 0, 'reasoning', NULL, 'hm', NULL),
    (3, 'b', 1, 'tool_call', 'f', NULL, '{"tool_call_id": "x", "arguments": {"a": 1}}'),
    (4, 'c', 0, 'text', NULL, 'more?', NULL), (5, 'd', 0, 'text', NULL, '{"plan": [1,]}', NULL);
"""


def made(path: Path, script: str) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


def said(path: Path) -> list[tuple[str, str | None]]:
    return [(turn.kind, turn.raw) for turn in gather(path, "logs.db").only]


def test_a_conversation_with_a_tool(tmp_path):
    path = made(tmp_path / "logs.db", OLD)
    calls = [("prompt", "Be brief."), ("prompt", "weather?"), ("tool_call", '{"a": }')]
    assert said(path) == [*calls, ("tool_result", "sunny"), ("response", '{"plan": [1,]}')]


def test_a_thread_says_each_message_once(tmp_path):
    path = made(tmp_path / "logs.db", NEW)
    first = [("prompt", "plan?"), ("event", "hm"), ("tool_call", '{"a":1}')]
    assert said(path) == [*first, ("prompt", "more?"), ("response", '{"plan": [1,]}')]


def test_both_kinds_of_table_do_not_say_a_turn_twice(tmp_path):
    found = gather(made(tmp_path / "logs.db", OLD + NEW), "logs.db")
    assert found.ids == ["t"]


def test_a_view_is_no_table_and_a_trigger_never_runs(tmp_path):
    path = made(
        tmp_path / "logs.db",
        "CREATE TABLE conversations (id TEXT); CREATE VIEW responses AS SELECT 1 AS id;"
        "CREATE TABLE gone (x); INSERT INTO gone VALUES (1);"
        "CREATE TRIGGER t BEFORE DELETE ON gone BEGIN SELECT load_extension('x'); END;",
    )
    with pytest.raises(UnknownFormat, match="no known shape"):
        gather(path, "logs.db")
    with opened(path, "logs.db") as source, opened_tables(source) as tables:
        assert tables.names == ["conversations", "gone"]
        with pytest.raises(sqlite3.DatabaseError, match=r"not authorized|readonly|prohibited"):
            tables._connection.execute("DELETE FROM gone")

"""Cursor's database: conversations list their messages, which lie under keys of their own."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.dumps.conftest import gather


def database(path: Path, values: dict[str, Any]) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)")
        connection.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB)")
        rows = [(key, json.dumps(value).encode()) for key, value in values.items()]
        connection.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", rows)
    return path


def test_messages_are_read_in_the_order_of_their_conversation(tmp_path):
    tool = {"toolCallId": "t", "name": "read", "rawArgs": '{"a": 1,}', "result": "ok", "status": "completed"}
    values = {
        "composerData:c": {"name": "Plans", "fullConversationHeadersOnly": [{"bubbleId": b} for b in ("z", "y", "x")]},
        "composerData:draft": {"fullConversationHeadersOnly": []},
        "bubbleId:c:z": {"type": 1, "text": "plan?"},
        "bubbleId:c:y": {"type": 2, "text": "", "thinking": {"text": "hm"}, "toolFormerData": tool},
        "bubbleId:c:x": {"type": 2, "text": "A plan.", "tokenCount": {"inputTokens": 3, "outputTokens": 4}},
        "checkpointId:c": {"files": []},
    }
    found = gather(database(tmp_path / "state.vscdb", values), "state.vscdb")
    assert [(start.external_id, start.title, start.source_format) for start in found.starts] == [
        ("c", "Plans", "cursor_db")
    ]
    assert [(turn.kind, turn.raw) for turn in found.only] == [
        ("prompt", "plan?"),
        ("event", "hm"),
        ("tool_call", '{"a": 1,}'),
        ("tool_result", "ok"),
        ("response", "A plan."),
    ]
    assert (found.only[-1].tokens_in, found.only[-1].tokens_out) == (3, 4)
    assert not found.problems


def test_messages_that_are_gone_or_listed_nowhere_are_named(tmp_path):
    values = {
        "composerData:c": {"fullConversationHeadersOnly": [{"bubbleId": "a"}, {"bubbleId": "gone"}]},
        "bubbleId:c:a": {"type": 2, "text": "A plan."},
        "bubbleId:c:b": {"type": 2, "text": "Nobody lists it."},
        "bubbleId:d:c": {"type": 2, "text": "Nor this."},
    }
    found = gather(database(tmp_path / "state.vscdb", values), "state.vscdb")
    assert [problem.at for problem in found.problems] == ["bubbleId:c:gone", "cursorDiskKV"]
    assert found.problems[-1].reason.endswith("left out: 2")


def test_the_model_is_the_conversation_s_and_steps_without_a_word_are_events(tmp_path):
    headers = [{"bubbleId": bubble} for bubble in "abc"]
    values = {
        "composerData:c": {"modelConfig": {"modelName": "m"}, "fullConversationHeadersOnly": headers},
        "bubbleId:c:a": {"type": 2, "text": ""},
        "bubbleId:c:b": {"type": 2, "text": "", "codeBlocks": [{"content": "print(1)"}]},
        "bubbleId:c:c": {"type": 2, "text": "A plan."},
    }
    found = gather(database(tmp_path / "state.vscdb", values), "state.vscdb")
    assert [(turn.kind, turn.raw, turn.model) for turn in found.only] == [
        ("event", None, None),
        ("event", None, None),
        ("response", "A plan.", "m"),
    ]
    assert [problem.at for problem in found.problems] == ["bubbleId:c:b"]


def test_an_older_conversation_holds_its_messages(tmp_path):
    failed = {"type": 2, "text": "", "errorDetails": {"message": "no connection"}}
    values = {"composerData:c": {"conversation": [{"type": 1, "text": "plan?"}, failed, {"type": 2, "text": "A."}]}}
    found = gather(database(tmp_path / "state.vscdb", values), "state.vscdb")
    assert [(turn.kind, turn.raw) for turn in found.only] == [
        ("prompt", "plan?"),
        ("error", "no connection"),
        ("response", "A."),
    ]

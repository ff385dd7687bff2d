"""LangGraph's checkpoints: the messages of all checkpoints of a thread, each once; what cannot be read is said."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.dumps.conftest import gather
from webapp.dumps.formats.langgraph import BadMsgpack, decoded

TABLE = "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, type TEXT, checkpoint BLOB)"


def packed(value: Any) -> bytes:
    """A few kinds of msgpack, as LangGraph writes them: a message is an extension of code 5."""
    if isinstance(value, str):
        data = value.encode()
        return b"\xd9" + bytes([len(data)]) + data
    if isinstance(value, list):
        return bytes([0x90 + len(value)]) + b"".join(map(packed, value))
    if isinstance(value, dict):
        return bytes([0x80 + len(value)]) + b"".join(packed(key) + packed(inner) for key, inner in value.items())
    assert isinstance(value, tuple)
    data = packed([*value])
    return b"\xc7" + bytes([len(data)]) + b"\x05" + data


def message(kind: str, ident: str, content: str) -> tuple[Any, ...]:
    return ("langchain_core.messages", f"{kind}Message", {"content": content, "type": kind.lower(), "id": ident})


def database(path: Path, *rows: tuple[Any, ...]) -> Path:
    connection = sqlite3.connect(path)
    connection.execute(TABLE)
    connection.executemany("INSERT INTO checkpoints VALUES (?, '', ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return path


def checkpoint(*messages: tuple[Any, ...]) -> bytes:
    return packed({"channel_values": {"messages": list(messages)}})


def test_the_messages_of_a_thread_each_once(tmp_path):
    asked, answer = message("Human", "h", "plan?"), message("AI", "a", '{"plan": [1,]}')
    first, second = checkpoint(asked), checkpoint(asked, answer)
    path = database(tmp_path / "c.db", ("t1", "1", "msgpack", first), ("t1", "2", "msgpack", second))
    found = gather(path, "c.db")
    assert (found.ids, found.starts[0].source_format) == (["t1"], "langgraph")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("prompt", "plan?"), ("response", '{"plan": [1,]}')]


def test_json_is_read_and_a_pickle_never(tmp_path):
    plain = b'{"channel_values": {"messages": [{"type": "ai", "content": "yes", "id": "a"}]}}'
    path = database(tmp_path / "c.db", ("t1", "1", "pickle", b"cos\nsystem\n"), ("t1", "2", "json", plain))
    found = gather(path, "c.db")
    assert [turn.raw for turn in found.only] == ["yes"]
    assert [(problem.at, "pickle" in problem.reason) for problem in found.problems] == [("checkpoint 1", True)]


@pytest.mark.parametrize("data", [b"\x91", b"\xc1", b"\x91" * 101 + b"\xc0", b"\xdd\xff\xff\xff\xff"])
def test_what_is_no_msgpack(data):
    with pytest.raises(BadMsgpack):
        decoded(data)


def test_numbers_and_words():
    assert decoded(b"\x96\xc0\xc2\xc3\x05\xff\xcd\x01\x00") == [None, False, True, 5, -1, 256]

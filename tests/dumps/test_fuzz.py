"""Whatever is done to a dump, reading it ends with records or with a refusal in words, never otherwise."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webapp.dumps import BadDump, SessionStart, Turn, UnknownFormat, read

EXAMPLES = [
    path.read_bytes() for path in sorted((Path(__file__).parents[2] / "examples").iterdir()) if path.suffix != ".md"
]
NAMES = ["a.json", "a.jsonl", "a.txt", "", "a/b\\c.json.gz", "\ud800"]
PIECES = [
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b"\\",
    b"\n",
    b"\0",
    b"\xff",
    b"NaN",
    b'"\\ud800"',
    b"null",
    b'"entries":',
    b"9" * 5000,
]

LAX = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def survive(path: Path, data: bytes, name: str) -> int:
    path.write_bytes(data)
    sessions: set[str] = set()
    count = 0
    try:
        for record in read(path, name):
            if isinstance(record, SessionStart):
                assert record.external_id not in sessions
                sessions.add(record.external_id)
                count = 0
            elif isinstance(record, Turn):
                assert sessions and record.entry in (count - 1, count)
                count = record.entry + 1
    except (UnknownFormat, BadDump) as refusal:
        assert str(refusal) and not sessions
    return len(sessions)


@LAX
@given(st.data())
def test_mutated_dumps(tmp_path, data):
    content = bytearray(data.draw(st.sampled_from(EXAMPLES)))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content)))
        end = min(len(content), at + data.draw(st.integers(0, 40)))
        content[at:end] = data.draw(st.sampled_from(PIECES) | st.binary(max_size=6))
    survive(tmp_path / "dump", bytes(content), data.draw(st.sampled_from(NAMES)))


@LAX
@given(st.data())
def test_cut_dumps(tmp_path, data):
    content = data.draw(st.sampled_from(EXAMPLES))
    survive(tmp_path / "dump", content[: data.draw(st.integers(0, len(content)))], "a.json")


WORDS = """session_id entries messages role content node_type tool_calls function arguments function_call fencepost
format extra home title request response choices message metadata turn_number timestamp text id usage model type"""
KEYS = st.sampled_from(WORDS.split())
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["assistant", "user", "agent", "windlass", "openai", "turn_output", "{}", "[]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)


@LAX
@given(VALUES, st.sampled_from(NAMES))
def test_documents_of_the_right_words_in_the_wrong_places(tmp_path, value, name):
    survive(tmp_path / "dump", json.dumps(value).encode(), name)


@LAX
@given(st.lists(VALUES, max_size=5))
def test_lines_of_the_right_words_in_the_wrong_places(tmp_path, values):
    survive(tmp_path / "dump", "\n".join(map(json.dumps, values)).encode(), "a.jsonl")


@LAX
@given(st.binary(max_size=200))
def test_any_bytes(tmp_path, data):
    survive(tmp_path / "dump", data, "a.json")

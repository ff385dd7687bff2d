"""Whatever is done to a dump, reading it ends with records or with a refusal in words, never otherwise."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webapp.dumps.budget import BadDump
from webapp.dumps.reading import read
from webapp.dumps.records import SessionStart, Turn, UnknownFormat, whole_entry
from webapp.jsontext import dumps

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.json*"))
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

UNTIMED = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
LAX = settings(max_examples=50, deadline=None, suppress_health_check=UNTIMED)


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
                if record.source is not None:
                    dumps(whole_entry(record.source, record.raw, record.raw_at))
    except (UnknownFormat, BadDump) as refusal:
        assert str(refusal) and not sessions
    return len(sessions)


@LAX
@given(st.data())
def test_cut_dumps(tmp_path, data):
    content = data.draw(st.sampled_from(EXAMPLES)).read_bytes()
    survive(tmp_path / "dump", content[: data.draw(st.integers(0, len(content)))], "a.json")


CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
REAL = [path for path in sorted(CORPUS.glob("*/*")) if path.name != "LICENSE"]


@settings(LAX, max_examples=100)
@given(st.data())
def test_mutated_dumps(tmp_path, data):
    """Examples and small files of the corpus, whole and damaged; big ones by their beginnings."""
    whole = data.draw(st.sampled_from(EXAMPLES + REAL)).read_bytes()
    content = bytearray(whole if len(whole) < 30_000 else whole[: data.draw(st.integers(1000, 30_000))])
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(content)))
        end = min(len(content), at + data.draw(st.integers(0, 40)))
        content[at:end] = data.draw(st.sampled_from(PIECES) | st.binary(max_size=6))
    survive(tmp_path / "dump", bytes(content), data.draw(st.sampled_from(NAMES)))


SHAPES = [
    {"task_id": 1, "trial": 1, "traj": []},
    {"trajectory": [{"observation": ""}], "history": []},
    {"trace": {}, "observations": [{"type": "GENERATION", "startTime": 1}]},
    {"tree": {"tree": {"node_type": "Thought", "children": []}}},
    {"1": {"answer": {"answer_details": []}}},
    {"eval": {}, "status": "x", "samples": [{"messages": []}]},
    {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [], "events": []}]}]}]},
    {"uri": "x", "request": {"messages": []}, "response": {"choices": []}},
    {"type": "user", "uuid": "x", "sessionId": "x", "message": {"role": "user", "content": []}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}},
    {"role": "assistant", "content": [{"type": "tool_use"}]},
]


@settings(LAX, max_examples=50)
@given(st.data())
def test_odd_values_in_the_right_shapes(tmp_path, data):
    """Any value in place of any other inside a shape that is recognised."""
    shape = json.loads(json.dumps(data.draw(st.sampled_from(SHAPES))))
    for _ in range(data.draw(st.integers(1, 4))):
        put(shape, data)
    text = json.dumps([shape] if data.draw(st.booleans()) else shape)
    survive(tmp_path / "dump", text.encode(), "a.json")


def put(value: object, data: st.DataObject) -> None:
    """Replace something inside `value`, as deep as chance leads."""
    while isinstance(value, dict | list) and value:
        key = data.draw(st.sampled_from(sorted(value)) if isinstance(value, dict) else st.integers(0, len(value) - 1))
        if data.draw(st.booleans()) or not isinstance(value[key], dict | list) or not value[key]:
            value[key] = data.draw(VALUES)
            return
        value = value[key]


WORDS = """session_id entries messages role content node_type tool_calls function arguments function_call fencepost
attributes key value events stringValue span spans scopeSpans node path children description observation type output
usage input name arguments payload uuid error attachments parts candidates format extra home title request response
choices message metadata turn_number timestamp text id model"""
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

"""Session dumps: the entries as they came, and the same session when read again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.dumps.conftest import Got, gather
from webapp import jsontext
from webapp.dumps.records import whole_entry
from webapp.exports.session import LARGEST_LAST, document

EXAMPLES = sorted(path for path in (Path(__file__).parents[2] / "examples").iterdir() if path.suffix != ".md")
NOW = datetime(2025, 12, 1, 10, 0, tzinfo=UTC)


def test_the_document():
    data = b"".join(document("a/b\0", NOW, 2, [{"a": 1}, {"b": float("nan")}], {"version": "1"}))
    assert data.isascii()
    text = data.decode()
    assert json.loads(text, parse_constant=pytest.fail) == {
        "session_id": "a/b\0",
        "dumped_at": "2025-12-01T10:00:00+00:00",
        "entry_count": 2,
        "entries": [{"a": 1}, {"b": {"$fencepost:float": "NaN"}}],
        "fencepost": {"version": "1", "floats": "marked"},
    }
    assert list(json.loads(text)) == ["session_id", "dumped_at", "entry_count", "entries", "fencepost"]


def test_a_large_fencepost_stands_before_the_entries():
    data = json.loads(b"".join(document("s", "now", 1, [{}], {"extra": "x" * LARGEST_LAST})))
    assert list(data)[-1] == "entries"


@pytest.mark.parametrize(
    ("source", "raw_at", "expected"),
    [
        ({"content": None, "a": 1}, ("content",), {"content": "RAW", "a": 1}),
        ({"a": [{"b": None}]}, ["a", 0, "b"], {"a": [{"b": "RAW"}]}),
        ({"content": None}, None, {"content": None}),
        (None, (), "RAW"),
    ],
)
def test_raw_is_put_back_where_it_stood(source, raw_at, expected):
    before = json.dumps(source)
    assert whole_entry(source, "RAW", raw_at) == expected
    assert json.dumps(source) == before


def same(one: Got, other: Got) -> None:
    """The same sessions and turns; by their texts, since NaN equals nothing."""
    assert repr(one.starts) == repr(other.starts)
    assert repr(one.turns) == repr(other.turns)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_dumped_and_read_again_is_the_same(path, tmp_path):
    first = gather(path, path.name)
    again = tmp_path / "again"
    again.write_bytes(first.dumped())
    same(gather(again, "again.json"), first)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
WINDLASS = st.fixed_dictionaries(
    {"node_type": st.sampled_from(["agent", "turn_output", "validation_error", "tool", "log", None])},
    optional={
        "role": st.sampled_from(["agent", "assistant", "user", "json_parse_error", "tool_result"]),
        "content": VALUES | st.sampled_from(["{}", "same", '"text"']),
        "content_json": VALUES.map(jsontext.dumps),
        "metadata": VALUES | st.sampled_from(["{'a': 1}", '{"turn_number": 2}']),
        "sounding_index": st.sampled_from([0, 1, None, float("nan")]),
        "timestamp": VALUES,
        "tool_calls": VALUES,
    },
)
CALL = st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": st.text(max_size=4), "arguments": VALUES})})
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
    optional={
        "content": VALUES | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": VALUES}), max_size=2),
        "tool_calls": VALUES | st.lists(CALL, max_size=3),
        "function_call": VALUES,
        "tool_call_id": VALUES,
        "timestamp": VALUES,
    },
)
UNTIMED = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
LAX = settings(max_examples=40, deadline=None, suppress_health_check=UNTIMED)


def round_trip(folder: Path, whole: dict, entries: list) -> None:
    path = folder / "dump"
    path.write_text(jsontext.dumps(whole))
    first = gather(path, "dump.json")
    assert jsontext.dumps(first.entries()) == jsontext.dumps(entries)
    path.write_bytes(first.dumped())
    second = gather(path, "dump.json")
    same(second, first)
    assert jsontext.dumps(second.entries()) == jsontext.dumps(entries)


@LAX
@given(st.lists(WINDLASS, max_size=6), st.text(max_size=5))
def test_windlass_entries_come_out_as_they_went_in(tmp_path, entries, name):
    round_trip(tmp_path, {"session_id": name, "entries": entries, "source": "parquet"}, entries)


@LAX
@given(st.lists(MESSAGE, max_size=6), VALUES)
def test_messages_come_out_as_they_went_in(tmp_path, entries, extra):
    readable = [{"role": "user", "content": "Where are we?"}, {"role": "assistant", "content": "Here."}]  # or refused
    round_trip(tmp_path, {"messages": [*readable, *entries], "note": extra}, [*readable, *entries])

"""Column types: what goes in comes out, on both databases; and digests of values."""

from __future__ import annotations

import functools
import json
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects import sqlite

from webapp import jsontext
from webapp.dumps.records import Turn
from webapp.store.db import types
from webapp.store.db.ids import short
from webapp.store.db.types import ExactJson, ExactText, PackedJson, PackedText, ShortText, UtcDateTime
from webapp.store.labels.label_content import same_as
from webapp.store.write import rows
from webapp.store.write.rows import canonical, value_digest

DIALECT = sqlite.dialect()

table = sa.Table(
    "kept", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("text", ExactText), sa.Column("packed", PackedText), sa.Column("value", ExactJson),
    sa.Column("name", ShortText(8)), sa.Column("time", UtcDateTime),
)  # fmt: skip


@pytest.fixture
def connection(blank: sa.Engine) -> Any:
    with blank.connect() as connection:
        table.create(connection)
        yield connection


def test_what_goes_in_comes_out(connection: sa.Connection) -> None:
    time = datetime(2020, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    value = {"a": [1, 10**40, -0.0, None, "\0\ud800"], "": float("inf")}
    connection.execute(table.insert(), {"text": "a\0\ud800😀", "value": value, "name": "a\0\ud800é", "time": time})
    row = connection.execute(sa.select(table)).one()
    assert (row.text, row.value, row.name) == ("a\0\ud800😀", value, "a\ufffd\ufffdé")
    assert row.time == time and row.time.tzinfo is UTC
    connection.execute(sa.update(table).values(value=[float("nan")]))
    assert math.isnan(connection.scalars(sa.select(table.c.value)).one()[0])


@given(st.text(st.characters(exclude_categories=()), max_size=40), st.integers(1, 30))
def test_a_short_text_is_short_and_can_be_stored(text: str, length: int) -> None:
    kept = short(text, length)
    assert len(kept) == min(len(text), length)
    assert "\0" not in kept
    assert kept.encode().decode() == kept


@settings(max_examples=30)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
@example([[float("nan")] * 100, {"content": "\x00\ud83d" * 200, "n": [float("inf"), -0.0, 10**400]}, "\ud800 alone"])
@example(functools.reduce(lambda inner, _: [inner], range(200), 0))
def test_packed_json_gives_back_every_value(value: Any) -> None:
    kept = PackedJson().process_bind_param({"value": value}, DIALECT)
    assert repr(PackedJson().process_result_value(kept, DIALECT)) == repr({"value": value}), "NaN equals nothing"


def test_packed_json_is_smaller_and_plain_text_from_before_is_still_read() -> None:
    value = {"timestamp": 1.7e9, "node_type": "agent", "role": "agent", "content": None, "tool_calls": None}
    plain = ExactJson().process_bind_param(value, DIALECT)
    kept = PackedJson().process_bind_param(value, DIALECT)
    assert plain is not None and kept is not None
    assert kept[:1] == types.PACKED and len(kept) < len(plain)
    assert PackedJson().process_result_value(plain, DIALECT) == value


@given(st.text(max_size=8), st.recursive(st.none() | st.text(max_size=4), lambda inner: st.lists(inner), max_leaves=8))
@example("a", None)
def test_an_entry_is_kept_without_its_text_and_hashed_with_it(word: str, beside: Any) -> None:
    for raw in (word, f"{word} and {word}", f'{word} "," {word}', ","):
        source = {raw: word, "a": [beside, {"text": None}, raw], "text": None, "z": ",", "null": beside}
        for path in (("text",), ("a", 1, "text")):
            turn = Turn(0, "response", raw, source=source, raw_at=path)
            row = rows.turn_row(turn, first=True)
            assert jsontext.loads(types.unpack(row["source"])) == source
            assert row["entry_sha256"] == rows.entry_digest(turn)


PROSE = "Thé agent reads a file and then runs code. " * 40


def test_texts_come_back_with_their_beginning_and_length(connection: sa.Connection) -> None:
    texts = ["", "short", PROSE, PROSE * 50, "\ud800\0" * 400]
    connection.execute(table.insert(), [{"packed": text} for text in [*texts, None]])
    query = sa.select(table.c.packed, types.head(table.c.packed, 50), types.Length(table.c.packed))
    found = connection.execute(query.order_by(table.c.id)).all()
    expected = [(text, text.encode("utf-8", "surrogatepass")) for text in texts]
    assert found == [*((text, data[:50], len(data)) for text, data in expected), (None, None, None)]


def test_prose_is_packed_and_a_long_text_stays_plain(connection: sa.Connection) -> None:
    connection.execute(table.insert(), [{"packed": PROSE}, {"packed": PROSE * 50}])
    packed, plain = connection.scalars(sa.select(sa.type_coerce(table.c.packed, sa.LargeBinary())).order_by(table.c.id))
    assert bytes(packed[:1]) == types.TEXT and len(packed) < len(PROSE) / 2
    assert bytes(plain) == (PROSE * 50).encode()


@given(st.binary(max_size=2000))
def test_no_utf8_is_taken_for_packed(noise: bytes) -> None:
    text = noise.decode("utf-8", "replace").encode() * 3
    assert types.unpack_text(text) == text
    assert types.unpack_text(types.pack_text(text)) == text


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("one", "other"), [([1], [1.0]), ([{"a": 1, "b": 2}], [{"b": 2, "a": 1.0}]), ([-0.0], [0]), ([1e3], [1000])]
)
def test_same(one: list[Any], other: list[Any]) -> None:
    assert value_digest(one) == value_digest(other) is not None


@pytest.mark.parametrize(("one", "other"), [([1], [True]), ([1], ["1"]), ([1, 2], [[1, 2]]), ([], [None]), ([0], [""])])
def test_different(one: list[Any], other: list[Any]) -> None:
    assert value_digest(one) != value_digest(other)


@given(values)
def test_it_is_a_signed_number_of_64_bits(value: Any) -> None:
    digest = value_digest([value])
    assert digest is not None and -(2**63) <= digest < 2**63
    assert digest == value_digest(json.loads(json.dumps([value])))
    assert canonical([value]) == same_as([value])


def test_what_is_too_deep_has_none() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert value_digest(value) is None

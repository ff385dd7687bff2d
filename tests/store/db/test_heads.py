"""The beginning and the length of stored texts, packed and plain, on both databases."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from webapp.store.db import types
from webapp.store.db.types import PackedText

PROSE = "Thé agent reads a file and then runs code. " * 40
table = sa.Table("kept", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("text", PackedText))
data = sa.type_coerce(table.c.text, sa.LargeBinary())


@pytest.fixture
def connection(blank: sa.Engine) -> Any:
    with blank.connect() as connection:
        table.create(connection)
        yield connection


@pytest.mark.parametrize("text", ["", "short", PROSE, PROSE * 50, "\ud800\0" * 400, None])
def test_a_text_comes_back_with_its_beginning_and_its_length(connection: sa.Connection, text: str | None) -> None:
    connection.execute(table.insert(), {"text": text})
    whole, head, length = connection.execute(
        sa.select(table.c.text, types.head(table.c.text, 50), types.Length(table.c.text))
    ).one()
    expected = None if text is None else text.encode("utf-8", "surrogatepass")
    assert whole == text
    assert head == (None if expected is None else expected[:50])
    assert length == (None if expected is None else len(expected))


def test_prose_is_packed_and_a_long_text_stays_plain(connection: sa.Connection) -> None:
    connection.execute(table.insert(), [{"text": PROSE}, {"text": PROSE * 50}])
    packed, plain = connection.scalars(sa.select(data).order_by(table.c.id))
    assert bytes(packed[:1]) == types.TEXT and len(packed) < len(PROSE) / 2
    assert bytes(plain) == (PROSE * 50).encode()


@given(st.binary(max_size=2000))
def test_no_utf8_is_taken_for_packed(noise: bytes) -> None:
    text = noise.decode("utf-8", "replace").encode() * 3
    assert types.unpack_text(text) == text
    assert types.unpack_text(types.pack_text(text)) == text

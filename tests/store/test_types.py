"""Column types: what goes in comes out, on both databases."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from webapp.store.types import ExactJson, ExactText, ShortText, UtcDateTime, short

table = sa.Table(
    "kept", sa.MetaData(), sa.Column("text", ExactText), sa.Column("value", ExactJson),
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
    (row,) = connection.execute(sa.select(table)).all()
    assert (row.text, row.value, row.name) == ("a\0\ud800😀", value, "a\ufffd\ufffdé")
    assert row.time == time and row.time.tzinfo is UTC


def test_nothing_is_null(connection: sa.Connection) -> None:
    connection.execute(table.insert(), dict.fromkeys(("text", "value", "name", "time")))
    assert connection.execute(sa.select(table)).all() == [(None, None, None, None)]


def test_not_a_number_survives(connection: sa.Connection) -> None:
    connection.execute(table.insert(), {"value": [float("nan")]})
    assert math.isnan(connection.scalars(sa.select(table.c.value)).one()[0])


@given(st.text(st.characters(exclude_categories=()), max_size=40), st.integers(1, 30))
def test_a_short_text_is_short_and_can_be_stored(text: str, length: int) -> None:
    kept = short(text, length)
    assert len(kept) == min(len(text), length)
    assert "\0" not in kept
    assert kept.encode().decode() == kept

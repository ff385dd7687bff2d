"""What PostgreSQL's index takes of a note: each word once with its places, as much as a tsvector holds."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from tests.store.search.test_folding import TEXTS, as_utf8
from webapp.store.search.vectors import vector_text
from webapp.store.search.words import LONGEST, words

LONG = " ".join(f"word{number}" for number in range(30_000))
MANY = " ".join(f"word{number}" for number in range(80_000))
"""more words than a vector holds"""
CROWDED = ["a " * 255 + "b", "a " * 256 + "b", "a " * 257 + "b", "a " * 300]


def as_stored(connection: sa.Connection, text: str) -> str:
    """What PostgreSQL makes of a tsvector's text."""
    vector = sa.cast(text, sa.dialects.postgresql.TSVECTOR)
    return str(connection.scalar(sa.select(sa.cast(vector, sa.Text))))


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_vector_says_where_each_word_stands(engine: sa.Engine) -> None:
    """As `to_tsvector` would, of the words one by one: its text form takes a word as often as it comes."""
    with engine.connect() as connection:
        for text in [*TEXTS, *CROWDED]:
            one_by_one = " ".join(f"'{word[:LONGEST]}':{place}" for place, word in enumerate(words(text), 1))
            assert as_stored(connection, vector_text(as_utf8(text))) == as_stored(connection, one_by_one), text


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
@pytest.mark.parametrize("text", [LONG, LONG * 5, MANY, "長" * 700, "長" * 5000], ids=len)
def test_of_a_very_long_text_it_has_what_a_vector_holds(engine: sa.Engine, text: str) -> None:
    first = next(words(text))
    with engine.connect() as connection:
        assert f"'{first[:600]}" in as_stored(connection, vector_text(as_utf8(text)))

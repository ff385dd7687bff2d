"""What PostgreSQL's index takes of a text: each word once with its places, as much as a tsvector holds."""

from __future__ import annotations

import random

import pytest
import sqlalchemy as sa

from webapp.store.search.index import index_turns
from webapp.store.search.pending import Pending
from webapp.store.search.vectors import vector_text
from webapp.store.search.words import LONGEST, words, words_of_bytes

FREE = 10**15
"""a turn's id that no other test has"""
PIECES = [
    "a",
    "B",
    "ab",
    "Σίσυφος",
    "ΟΔΟΣ'Α",
    "İ",
    "中文",
    "x_9",
    "a\u0301b",
    "²",
    "'",
    "\\",
    ":",
    "\n",
    "\0",
    "-",
    "😀",
    "\ud800",
]
TEXTS = [
    "",
    "one",
    "a " * 255 + "b",
    "a " * 256 + "b",
    "a " * 257 + "b",
    "a " * 300,
    "it’s — “so” it is… cafe\u0301’s été",
    "w" * (LONGEST + 1),
    "é" * (LONGEST + 1) + " end",
    *(" ".join(random.Random(seed).choices(PIECES, k=400)) for seed in range(20)),
    *("".join(random.Random(seed).choices(PIECES, k=400)) for seed in range(20)),
]


LONG = " ".join(f"word{number}" for number in range(30_000))


def as_utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def stored(connection: sa.Connection) -> list[str]:
    """The vectors of this test, as PostgreSQL writes them."""
    query = sa.text("SELECT words::text FROM search_raw WHERE id >= :first ORDER BY id")
    return list(connection.scalars(query, {"first": FREE}).all())


@pytest.mark.parametrize("text", TEXTS)
def test_both_ways_to_cut_a_text_give_the_same_words(text: str) -> None:
    assert words_of_bytes(as_utf8(text)) == [word.encode() for word in words(text)]


def test_no_code_point_is_cut_otherwise() -> None:
    text = "".join(f"a{chr(code)}b {chr(code)}A " for code in range(0x110000))
    assert words_of_bytes(as_utf8(text)) == [word.encode() for word in words(text)]


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_vector_says_where_each_word_stands(engine: sa.Engine) -> None:
    """As `to_tsvector` would, of the words one by one: its text form takes a word as often as it comes."""
    with engine.connect() as connection:
        index_turns(connection, [(FREE + number, as_utf8(text)) for number, text in enumerate(TEXTS)])
        for text, vector_there in zip(TEXTS, stored(connection), strict=True):
            one_by_one = " ".join(f"'{word[:LONGEST]}':{place}" for place, word in enumerate(words(text), 1))
            as_cast = sa.select(sa.cast(sa.cast(one_by_one, sa.dialects.postgresql.TSVECTOR), sa.Text))
            assert vector_there == connection.scalar(as_cast), text


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_vector_as_text_is_the_same(engine: sa.Engine) -> None:
    texts = [*TEXTS, LONG, LONG * 5, "長" * 700, "長" * 5000]
    with engine.connect() as connection:
        index_turns(connection, [(FREE + number, as_utf8(text)) for number, text in enumerate(texts)])
        for text, vector_there in zip(texts, stored(connection), strict=True):
            as_text = sa.cast(vector_text(as_utf8(text)), sa.dialects.postgresql.TSVECTOR)
            assert vector_there == connection.scalar(sa.select(sa.cast(as_text, sa.Text)))


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_made_before_or_as_it_is_written_it_is_the_same(engine: sa.Engine) -> None:
    ready, later = Pending(vectors=True), Pending()
    for number, text in enumerate([*TEXTS, LONG, LONG * 5], FREE):
        ready.text(2 * number, as_utf8(text))
        later.text(2 * number + 1, as_utf8(text))
    with engine.connect() as connection:
        index_turns(connection, [*ready.texts, *later.texts])
        query = sa.text("SELECT words FROM search_raw WHERE id >= :first ORDER BY id")
        rows = connection.scalars(query, {"first": 2 * FREE}).all()
    assert len(rows) == 2 * (len(TEXTS) + 2) and rows[::2] == rows[1::2]


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_what_copy_refuses_is_an_error_like_any_other(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        index_turns(connection, [(FREE, b"one")])
    with pytest.raises(sa.exc.IntegrityError, match="search_raw"), engine.begin() as connection:
        index_turns(connection, [(FREE + 1, b"two"), (FREE, b"again")])
    with engine.connect() as connection:
        count = sa.text("SELECT count(*) FROM search_raw WHERE id >= :first")
        assert connection.scalar(count, {"first": FREE}) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_vector_of_a_few_kilobytes_is_stored_as_it_is(engine: sa.Engine) -> None:
    """Its size in the row is the one that it has in memory, where nothing is compressed."""
    text = as_utf8(" ".join(f"word{number}" for number in range(300)))
    with engine.connect() as connection:
        index_turns(connection, [(FREE + 10**6, text)])
        query = sa.text(
            "SELECT pg_column_size(words), pg_column_size(words || ''::tsvector) FROM search_raw WHERE id = :id"
        )
        stored_size, size = connection.execute(query, {"id": FREE + 10**6}).one()
    assert stored_size == size > 4000

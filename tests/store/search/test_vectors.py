"""What PostgreSQL's index takes: short texts word after word, long ones with each word once, and both mean the same."""

from __future__ import annotations

import random

import pytest
import sqlalchemy as sa

from webapp.store.search import index
from webapp.store.search.index import Pending, index_turns
from webapp.store.search.words import LONGEST, all_words, words

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
    "a " * 300,
    "w" * (LONGEST + 1),
    "é" * (LONGEST + 1) + " end",
    *(" ".join(random.Random(seed).choices(PIECES, k=400)) for seed in range(20)),
    *("".join(random.Random(seed).choices(PIECES, k=400)) for seed in range(20)),
]


@pytest.mark.parametrize("text", TEXTS)
def test_both_ways_to_cut_a_text_give_the_same_words(text: str) -> None:
    assert all_words(text) == list(words(text))


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_words_in_order_and_words_once_are_the_same_vector(engine: sa.Engine) -> None:
    query = sa.text("SELECT CAST(:one AS tsvector) = CAST(:other AS tsvector)")
    with engine.connect() as connection:
        for text in TEXTS:
            parameters = {"one": index._vector(text), "other": index._long_vector(text)}
            assert connection.scalar(query, parameters), text


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_made_before_or_as_it_is_written_it_is_the_same(engine: sa.Engine) -> None:
    ready, later = Pending(vectors=True), Pending()
    long = " ".join(f"word{number}" for number in range(30_000))
    for number, text in enumerate([*TEXTS, long, long * 5], FREE):
        ready.text(2 * number, text.encode("utf-8", "surrogatepass"))
        later.text(2 * number + 1, text.encode("utf-8", "surrogatepass"))
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

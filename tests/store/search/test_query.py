"""The query language: words, phrases, prefixes, exclusions, and that any text is a query."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from webapp.store.db import database
from webapp.store.search.query import LONGEST, MOST_TERMS, MOST_TOKENS, Query, Term, parse, words


def said(query: Query) -> list[str]:
    """The terms as text: - before what is excluded, * behind a prefix."""
    wanted = [" ".join(term.tokens) + "*" * term.prefix for term in query.required]
    return wanted + ["-" + " ".join(term.tokens) + "*" * term.prefix for term in query.excluded]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("   ", []),
        ("run_code", ["run_code"]),
        ("Two WORDS", ["two", "words"]),
        ('"a phrase here" word', ["a phrase here", "word"]),
        ('"never closed', ["never closed"]),
        ('word"phrase one"', ["word", "phrase one"]),
        ("a-b.c", ["a b c"]),
        ("pre*", ["pre*"]),
        ('"a pre"*', ["a pre*"]),
        ("mid*dle", ["mid dle"]),
        ("yes -no", ["yes", "-no"]),
        ('yes -"not this"', ["yes", "-not this"]),
        ("yes -no*", ["yes", "-no*"]),
        ("--flag", ["flag"]),
        ("- -- -", []),
        ('{"a": 1}', ["a", "1"]),
        ("AND OR NOT NEAR", ["and", "or", "not", "near"]),
        ("raw:^x +y (z)", ["raw x", "y", "z"]),
        ("again again", ["again"]),
    ],
)
def test_what_is_typed_is_read_as(text: str, terms: list[str]) -> None:
    assert said(parse(text)) == terms


def test_a_long_query_is_cut_and_says_so() -> None:
    many = parse(" ".join(f"w{number}" for number in range(MOST_TERMS + 1)))
    assert (len(many.required), many.cut) == (MOST_TERMS, True)
    phrase = parse('"' + "x " * (MOST_TOKENS + 1) + '"')
    assert (len(phrase.required[0].tokens), phrase.cut) == (MOST_TOKENS, True)
    assert parse("x" * (LONGEST + 1)).cut
    assert not parse("x y").cut


@given(st.text())
def test_any_text_is_a_query(text: str) -> None:
    query = parse(text)
    assert all(isinstance(term, Term) and all(term.tokens) for term in query.required + query.excluded)


NEWER = "\u037f"
"""a capital that Unicode has since 7.0, and FTS5, which knows 6.1, does not fold"""
KNOWN = st.characters(
    exclude_categories=("Cn", "Co", "Mn", "Mc", "Me", "Cs"), exclude_characters=NEWER, max_codepoint=0x3FF
)
LETTERS = st.text(st.one_of(KNOWN, st.sampled_from("aB_9 -.\u0301\u4e2d\U0001f914\U0001f600\u2066\ud800\0é")))


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sa.Connection]:
    engine = database.connect(f"sqlite:///{Path(tmp_path_factory.mktemp('words')) / 'store.sqlite3'}")
    database.migrate(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE VIRTUAL TABLE temp.term USING fts5vocab(main, search_raw, instance)")
        connection.commit()
        yield connection
    engine.dispose()


def cut(connection: sa.Connection, text: str) -> list[str]:
    """The words of `text` in order, as FTS5 has them."""
    data = text.encode("utf-8", "surrogatepass")
    connection.exec_driver_sql("INSERT INTO search_raw(rowid, raw) VALUES (1, ?)", (data,))
    found = connection.exec_driver_sql("SELECT term FROM temp.term ORDER BY offset").scalars().all()
    connection.rollback()
    return list(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("run_code(x)", ["run_code", "x"]),
        ("a-b.c", ["a", "b", "c"]),
        ("Größe ÉCOLE", ["größe", "école"]),
        ("ΟΔΟΣ οδος", ["οδοσ", "οδοσ"]),
        ("cafe\u0301", ["cafe\u0301"]),
        ("ok\U0001f914ok", ["ok", "ok"]),
        ("nul\0nul", ["nul", "nul"]),
        ("lone\ud800surrogate", ["lone", "surrogate"]),
    ],
)
def test_words(connection: sa.Connection, text: str, found: list[str]) -> None:
    assert list(words(text)) == cut(connection, text) == found


def simple(text: str) -> bool:
    """Whether case is folded letter for letter: the two differ in what has no single small letter."""
    return all(len(letter.lower()) == 1 and letter.lower() == letter.casefold() for letter in text)


@given(LETTERS.filter(simple))
def test_words_of_random_texts(connection: sa.Connection, text: str) -> None:
    assert [unicodedata.normalize("NFC", word) for word in words(text)] == [
        unicodedata.normalize("NFC", word) for word in cut(connection, text)
    ]

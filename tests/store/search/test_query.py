"""The query language: words, phrases, prefixes, exclusions, and that any text is a query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.store.search.query import LONGEST, MOST_TERMS, MOST_TOKENS, Query, Term, parse


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

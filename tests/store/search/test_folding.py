"""A text as PostgreSQL's index keeps it: its words, in lower case, each with a space before and behind it."""

from __future__ import annotations

import random

import pytest

from webapp.store.search.folding import folded, needle
from webapp.store.search.query import parse
from webapp.store.search.words import LONGEST, words, words_of_bytes

PIECES = [
    *("a", "B", "ab", "Σίσυφος", "ΟΔΟΣ'Α", "İ", "中文", "x_9"),
    *("a\u0301b", "²", "'", "\\", ":", "\n", "\0", "-", "😀", "\ud800"),
]
TEXTS = [
    "",
    "one",
    "...",
    "a " * 300,
    "it’s — “so” it is… cafe\u0301’s été",
    "w" * (LONGEST + 1),
    "é" * (LONGEST + 1) + " end",
    *(" ".join(random.Random(seed).choices(PIECES, k=400)) for seed in range(20)),
    *("".join(random.Random(seed).choices(PIECES, k=400)) for seed in range(20)),
]


def as_utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("text", TEXTS)
def test_both_ways_to_cut_a_text_give_the_same_words(text: str) -> None:
    assert words_of_bytes(as_utf8(text)) == [word.encode() for word in words(text)]


def test_no_code_point_is_cut_otherwise() -> None:
    text = "".join(f"a{chr(code)}b {chr(code)}A " for code in range(0x110000))
    assert words_of_bytes(as_utf8(text)) == [word.encode() for word in words(text)]


@pytest.mark.parametrize("times", [1, 3000], ids=["short", "long"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_folded_text_is_its_words(text: str, times: int) -> None:
    whole = f"{text} " * min(times, 1 + 200_000 // (len(text) + 1))
    expected = " ".join(words(whole))
    assert folded(as_utf8(whole)) == (f" {expected} ".encode() if expected else b"")


@pytest.mark.parametrize(
    ("query", "text", "stands"),
    [
        ("One", "one", True),
        ("one", "ones", False),
        ("one*", "ones", True),
        ('"a b"', "x A-b.", True),
        ('"a b"', "a c b", False),
        ('"a b"*', "a bc", True),
        ('"a b"', "xa b", False),
    ],
)
def test_a_needle_stands_where_the_words_do(query: str, text: str, stands: bool) -> None:
    (term,) = parse(query).required
    assert (needle(term.tokens, term.prefix).encode() in folded(text.encode())) is stands

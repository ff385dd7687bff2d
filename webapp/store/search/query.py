"""The query language (words, "phrases", prefix* and -not: any text is one), words as the index has them, excerpts.

SQLite's `unicode61` cuts texts itself, by Unicode 6.1; here stands the same rule for what it does not do: reading a
query, PostgreSQL's index, and finding the places of hits. The two differ only on code points without a meaning yet
and on those for private use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MARKS = "\u0300-\u0304\u0306-\u030c\u030f\u0311\u031b\u0323-\u0328\u032d\u032e\u0330\u0331"
"""Accents of their own: `unicode61` lets a word go on over these and over no other mark."""
LONGEST_WORD = 500
"""code points of a word that PostgreSQL's index keeps: it takes no more than 2046 bytes"""
MOST_BYTES = 500_000
"""of a text's words that it takes"""
_UNDERSCORE = "\u01c0"
"""a letter that hardly any text has, in place of `_`, at which PostgreSQL would cut a word"""
_word = re.compile(rf"\w[\w{MARKS}]*")


def words(text: str) -> Iterator[str]:
    """The words of `text` in order, folded, a sigma at the end of one as any other."""
    return (match.group().lower().replace("ς", "σ") for match in _word.finditer(text))


def kept(word: str) -> str:
    """A word as PostgreSQL's index has it."""
    return word[:LONGEST_WORD].replace("_", _UNDERSCORE)


def folded(text: str) -> str:
    """A text's words in order as PostgreSQL is to have them; of a very long text those that come first."""
    data = " ".join(map(kept, words(text))).encode()
    return data[:MOST_BYTES].decode(errors="ignore")


def pattern(tokens: tuple[str, ...], prefix: bool) -> str:
    """A regular expression for `tokens` one after the other, as whole words; the last may go on with `prefix`."""
    inside = rf"[^\w{MARKS}]+"
    ending = "" if prefix else rf"(?![\w{MARKS}])"
    return rf"(?<![\w{MARKS}])" + inside.join(re.escape(token) for token in tokens) + ending


MOST_TERMS = 32
MOST_TOKENS = 64
LONGEST = 4000
"""code points of a query that are read"""

_part = re.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)(?:"|$)|(?P<word>[^\s"]+))(?P<star>\*?)')


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand one after the other; with `prefix` the last may be the beginning of a word."""

    tokens: tuple[str, ...]
    prefix: bool


@dataclass(frozen=True, slots=True)
class Query:
    """What a text must hold, all of `required` and none of `excluded`, to match; `cut` where not all of it was read.

    Without anything `required` nothing matches.
    """

    required: tuple[Term, ...]
    excluded: tuple[Term, ...]
    cut: bool = False


def parse(text: str) -> Query:
    """Read what somebody typed. An identifier such as `a-b.c` is a phrase of its words; `--flag` is not excluded."""
    terms: dict[Term, None] = {}
    excluded_terms: dict[Term, None] = {}
    cut = len(text) > LONGEST
    for match in _part.finditer(text[:LONGEST]):
        term_text = match["phrase"] if match["phrase"] is not None else match["word"]
        tokens = tuple(words(term_text))
        if not tokens:
            continue
        if len(terms) + len(excluded_terms) >= MOST_TERMS:
            cut = True
            break
        cut = cut or len(tokens) > MOST_TOKENS
        prefix = bool(match["star"]) or (match["word"] is not None and term_text.endswith("*"))
        excluded = bool(match["minus"]) and not term_text.startswith("-")
        (excluded_terms if excluded else terms)[Term(tokens[:MOST_TOKENS], prefix)] = None
    return Query(tuple(terms), tuple(excluded_terms), cut)


LONGEST_EXCERPT = 120
BEFORE = 40
"""code points in all, and before the first hit"""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of a text in fragments, each a hit or not.

    `hit` is the first hit's span in the text, in code points, None where it could not be found again; `starts` and
    `ends` say whether the excerpt begins and ends with the text.
    """

    fragments: tuple[tuple[str, bool], ...]
    hit: tuple[int, int] | None
    starts: bool
    ends: bool


class Cutter:
    """Excerpts of one query: around the first place of its longest term, with all of its terms marked."""

    def __init__(self, query: Query) -> None:
        terms = sorted(query.required, key=lambda term: -sum(map(len, term.tokens)))
        patterns = [pattern(term.tokens, term.prefix) for term in terms]
        self._each = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
        self._all = re.compile("|".join(patterns), re.IGNORECASE) if patterns else None

    def excerpt(self, text: str) -> Excerpt:
        """The excerpt of `text`; its beginning where nothing is found."""
        first = next((match for pattern in self._each if (match := pattern.search(text))), None)
        at = 0 if first is None else first.start()
        start = 0 if at <= BEFORE else at - BEFORE
        end = min(len(text), start + LONGEST_EXCERPT)
        start = max(0, min(start, end - LONGEST_EXCERPT))
        hit = None if first is None else first.span()
        return Excerpt(tuple(self._fragments(text, start, end)), hit, start == 0, end == len(text))

    def finds(self, text: str) -> bool:
        """Whether any of the query's terms stands in `text`."""
        return self._all is not None and self._all.search(text) is not None

    def _fragments(self, text: str, start: int, end: int) -> list[tuple[str, bool]]:
        pieces: list[tuple[str, bool]] = []
        at = start
        for match in self._all.finditer(text, start) if self._all is not None else ():
            hit_start, right = match.start(), min(match.end(), end)
            if hit_start >= end:
                break
            if hit_start > at:
                pieces.append((text[at:hit_start], False))
            pieces.append((text[hit_start:right], True))
            at = right
        if at < end:
            pieces.append((text[at:end], False))
        return pieces

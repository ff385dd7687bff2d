"""The query language: words, "phrases", prefix* and -not. Any text is a query."""

from __future__ import annotations

import re
from dataclasses import dataclass

from webapp.store.search.words import words

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

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
    """What a text must hold, all of `wanted` and none of `unwanted`, to match; `cut` where not all of it was read.

    Without anything `wanted` nothing matches.
    """

    wanted: tuple[Term, ...]
    unwanted: tuple[Term, ...]
    cut: bool = False


def parse(text: str) -> Query:
    """Read what somebody typed. An identifier such as `a-b.c` is a phrase of its words; `--flag` is not excluded."""
    wanted: dict[Term, None] = {}
    unwanted: dict[Term, None] = {}
    cut = len(text) > LONGEST
    for match in _part.finditer(text[:LONGEST]):
        given = match["phrase"] if match["phrase"] is not None else match["word"]
        tokens = tuple(words(given))
        if not tokens:
            continue
        if len(wanted) + len(unwanted) >= MOST_TERMS:
            cut = True
            break
        cut = cut or len(tokens) > MOST_TOKENS
        prefix = bool(match["star"]) or (match["word"] is not None and given.endswith("*"))
        excluded = bool(match["minus"]) and not given.startswith("-")
        (unwanted if excluded else wanted)[Term(tokens[:MOST_TOKENS], prefix)] = None
    return Query(tuple(wanted), tuple(unwanted), cut)

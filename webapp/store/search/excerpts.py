"""Cuts out of a text what stands around a query's first hit, code point for code point."""

from __future__ import annotations

import re
from dataclasses import dataclass

from webapp.store.search.query import Query
from webapp.store.search.words import pattern

LONGEST = 120
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
        end = min(len(text), start + LONGEST)
        start = max(0, min(start, end - LONGEST))
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

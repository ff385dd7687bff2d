"""The smallest reproduction: the shortest cut of a text that still fails the same way, by delta debugging.

Zeller and Hildebrandt's ddmin (IEEE TSE 28(2), 2002) over lines, then tokens, then characters, and between them values
and members, whose brackets no single cut takes away together. No clock and no chance: the same text and the same
predicate give the same cut on any machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from webapp.parsing import failure_group, words
from webapp.parsing.engine import Profile, parse

MOST_CHARACTERS = 4_000_000
"""code points that the predicate is given in all: a text of 2,000 is reduced in about a tenth of it"""
MOST_SPANS = 400
"""values, and members, that are tried in one round, the longest first"""
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\w+|\s+|.', re.DOTALL)
_OPENS = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Reproduction:
    """`text` is the cut. `same` is False where the text itself does not fail that way, None where it was not tried.

    `exhausted`: the budget ended first, so that a shorter cut may exist; without it no character of `text` can be left
    out. `tests` counts the texts that the predicate was asked about.
    """

    text: str
    same: bool | None
    exhausted: bool
    tests: int


class _BudgetSpent(Exception):
    """The predicate was given as many characters as it may be."""


@dataclass(slots=True)
class _Search:
    same: Callable[[str], bool]
    budget: int
    best: str
    tests: int = 0
    seen: dict[str, bool] = field(default_factory=dict)

    def fails(self, text: str) -> bool:
        """Whether `text` fails the same way; what was asked before is not asked again. Raises `_BudgetSpent`."""
        if text not in self.seen:
            self.budget -= len(text) + 1
            if self.budget < 0:
                raise _BudgetSpent
            self.tests += 1
            self.seen[text] = self.same(text)
        return self.seen[text]

    def take(self, text: str) -> bool:
        """Keep `text` as the best so far where it is shorter and fails the same way."""
        if len(text) < len(self.best) and self.fails(text):
            self.best = text
            return True
        return False


def reproduce(raw: str, same: Callable[[str], bool], most_characters: int = MOST_CHARACTERS) -> Reproduction:
    """The shortest cut of `raw` for which `same` holds that was reached within `most_characters`."""
    search = _Search(same, most_characters, raw)
    try:
        if not search.fails(raw):
            return Reproduction(raw, False, False, search.tests)
        _reduce(search)
    except _BudgetSpent:
        return Reproduction(search.best, True if search.tests else None, True, search.tests)
    return Reproduction(search.best, True, False, search.tests)


def _reduce(search: _Search) -> None:
    """Rounds from coarse to fine until one changes nothing: then no line, token, value or character can go."""
    before = None
    while before != search.best:
        before = search.best
        _ddmin(search, search.best.splitlines(keepends=True))
        _ddmin(search, _TOKEN.findall(search.best))
        _values(search)
        _ddmin(search, list(search.best))


def _ddmin(search: _Search, units: Sequence[str]) -> None:
    """Leave out ever smaller runs of units; ends where no single unit can be left out."""
    size = max(1, len(units) // 2)
    while units:
        units, shorter = _without_runs(search, units, size)
        if not shorter and size == 1:
            return
        size = max(1, min(size if shorter else size // 2, len(units)))


def _without_runs(search: _Search, units: Sequence[str], size: int) -> tuple[Sequence[str], bool]:
    """One pass from the end, so that what stands behind the failure goes first."""
    shorter = False
    end = len(units)
    while end > 0:
        start = max(0, end - size)
        rest = [*units[:start], *units[end:]]
        if search.take("".join(rest)):
            units, shorter = rest, True
        end = start
    return units, shorter


def _values(search: _Search) -> None:
    """Keep one value alone, or leave one out, or the brackets round it, as long as one of these is the same."""
    while any(search.take(text) for text in _with_values_cut(search.best)):
        pass


def _with_values_cut(text: str) -> Iterator[str]:
    values, members = _nested(text)
    for start, end in values:
        yield text[start:end]
    for start, end in [*values, *members]:
        yield text[:start] + text[end:]
    for start, end in values:
        yield text[:start] + text[start + 1 : end - 1] + text[end:]


def _nested(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The spans of bracketed values outside of strings and of members with one comma of theirs, the longest first."""
    values: list[tuple[int, int]] = []
    members: list[tuple[int, int]] = []
    levels: list[tuple[str, int, int]] = []  # the bracket, where it stands, where its member at hand begins
    at = 0
    for piece in _TOKEN.findall(text):
        end = at + len(piece)
        if piece in _OPENS:
            levels.append((piece, at, end))
        elif levels and piece in (",", _OPENS[levels[-1][0]]):
            bracket, opened, begun = levels.pop()
            first = begun == opened + 1
            members.append((begun, end if first and piece == "," else at))
            if piece == ",":
                levels.append((bracket, opened, at))
            else:
                values.append((opened, end))
        at = end
    return _longest(values), _longest(members)


def _longest(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(spans, key=lambda span: (span[0] - span[1], span[0]))[:MOST_SPANS]


def way_of_failing(raw: str, home: str | Profile) -> str | None:
    """The key of the failure group of `raw` under `home`; None where it does not fail. Raises `UnknownProfile`."""
    ours = parse(raw)
    group = failure_group.group(raw, parse(raw, home, lambda: ours), ours)
    return group.key if group else None


def of_profile(raw: str, home: str | Profile, most_characters: int = MOST_CHARACTERS) -> Reproduction:
    """The smallest reproduction of what `home` does to `raw`; `same` is False where it does not fail."""
    way = way_of_failing(raw, home)
    return reproduce(raw, lambda text: way is not None and way_of_failing(text, home) == way, most_characters)


def sentence(result: Reproduction, length: int, home: str) -> str:
    """How the reproduction was reached, or why there is none: `8 of 2,289 characters, 382 texts tried`."""
    if result.same is None:
        return f"{words.counted(length, 'character')} are more than is cut; nothing was tried"
    if not result.same:
        return f"{words.called(home)} does not fail on this response, so there is nothing to reproduce"
    end = "the budget ended, a shorter one may exist" if result.exhausted else "no character can be left out"
    tried = words.counted(result.tests, "text")
    return f"{len(result.text):,} of {words.counted(length, 'character')}, {tried} tried: {end}"

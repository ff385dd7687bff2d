"""Strategies: ways to find candidates, one file each, and the one pass over a text in which all of them are tried."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from webapp import plugins
from webapp.parsing.finder import Finder
from webapp.parsing.patterns import holds, preparing, up_to

Take = Callable[[Finder, "re.Match[str]"], int]
"""Looks at the candidate that the pattern found; the offset from which to go on, behind the match's start."""


@dataclass(frozen=True)
class Strategy:
    """A way to find candidates. All patterns are tried together, in one pass, where one of the characters in
    `starts` stands, or where `hint` matches, whose first character is a common one; and where the text begins.
    Lower `order` wins at one place.
    """

    name: str
    pattern: str = ""
    starts: str = ""
    order: int = 50
    take: Take = lambda finder, match: 0
    hint: str = ""
    help: str = ""


def finds(name: str, pattern: str, starts: str = "", *, order: int, hint: str = "") -> Callable[[Take], Strategy]:
    """Makes a strategy of the function that takes a match up; the first paragraph of its docstring is the help."""

    def strategy(take: Take) -> Strategy:
        paragraph = (take.__doc__ or "").partition("\n\n")[0]
        return Strategy(name, pattern, starts, order, take, hint, " ".join(paragraph.split()))

    return strategy


MOST = 4_000
"""So many attempts are made; a response with more values than that is not read to its end, and the trace says so."""


MOST_REJECTED = 50_000
"""So many candidates are looked at that are no JSON: a megabyte of program code has fewer brackets.
Of those that the machine refuses one right behind another each counts as twenty, which is what it costs."""


def scan_region(finder: Finder, start: int, end: int) -> None:
    """Let the strategies look at `raw[start:end]`."""
    raw, attempts, at = finder.tracer.raw, finder.tracer.attempts, finder.enter(start, end)
    events, takes, passed, starts = _search()
    is_plain = not holds(raw, at + 1, end, starts)
    while True:
        if len(attempts) > MOST or finder.rejected + 19 * finder.crowded > MOST_REJECTED:
            finder.give_up(at)
            break
        match = events.match(raw, at, end)
        at = max(takes[match.lastgroup or ""](finder, match) if match else 0, at + 1)
        at = end if is_plain else passed.match(raw, at, end).end()  # type: ignore[union-attr]  # always matches
        if at >= end:
            break
    finder.leave(at)


class _Search(NamedTuple):
    """One pattern for the beginnings that all strategies look for, a named group each; what takes up a match of each
    group; what is passed over up to where a candidate may begin; and the characters that one may begin with."""

    events: re.Pattern[str]
    takes: dict[str, Take]
    passed: re.Pattern[str]
    starts: str


@cache
@preparing()
def _search() -> _Search:
    strategies: dict[str, Strategy] = plugins.collect("webapp.parsing.strategies")
    ordered = sorted((s for s in strategies.values() if s.pattern), key=lambda strategy: strategy.order)
    events = re.compile("|".join(f"(?P<{strategy.name}>{strategy.pattern})" for strategy in ordered))
    starts = "".join(sorted({char for strategy in ordered for char in strategy.starts}))
    hints = sorted({strategy.hint for strategy in ordered if strategy.hint})
    passed = re.compile(up_to(starts, *hints))
    takes = {strategy.name: strategy.take for strategy in ordered}
    return _Search(events, takes, passed, starts + "".join(hint[0] for hint in hints))

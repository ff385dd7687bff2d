"""What a strategy is, and one pass over a region from one possible beginning of JSON to the next, for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from webapp import plugins
from webapp.parsing.finder import Finder
from webapp.parsing.multi_search import MultiSearch, Target
from webapp.parsing.patterns import preparing

Take = Callable[[Finder, "re.Match[str]"], int]
"""Looks at the candidate that the pattern found; the offset from which to go on, behind the match's start."""


@dataclass(frozen=True)
class Strategy:
    """A way to find candidates. All patterns are tried together, in one pass, where one of the characters in
    `starts` stands, or where `hint` matches, whose first character is a common one; and where the text begins.
    No text without a match of `hint_needs`, which costs less, has one of `hint`. Lower `order` wins at one place.
    """

    name: str
    pattern: str = ""
    starts: str = ""
    order: int = 50
    take: Take | None = None
    hint: str = ""
    hint_needs: str = ""
    help: str = ""


MOST = 4_000
"""So many attempts are made; a response with more values than that is not read to its end, and the trace says so."""

NEAR = 40
"""So many characters behind a candidate are looked at one by one: in dense text the next one begins there."""


def scan_region(finder: Finder, start: int, end: int) -> None:
    """Let the strategies look at `raw[start:end]`."""
    raw, attempts, at = finder.tracer.raw, finder.tracer.attempts, finder.enter(start, end)
    events, takes, starts, targets, near_by = _search()
    match_event, pass_near = events.match, near_by.match
    hints: MultiSearch | None = None
    near_end = at  # the first look is at the very beginning, whatever stands there
    while True:
        if len(attempts) > MOST:
            finder.give_up(at)
            break
        match = match_event(raw, at, end)
        take = takes[match.lastgroup or ""] if match else None
        at = max(take(finder, match), at + 1) if match and take else near_end
        if at < end:
            at = pass_near(raw, at, end).end()  # type: ignore[union-attr]  # always matches
        if at >= end:
            break
        if raw[at] in starts:
            near_end = at + 1
            continue
        hints = hints or MultiSearch(raw, at, end, targets)
        if (near := hints.next(at)) is None:
            break
        at, near_end = near
    finder.leave(at)


class _Search(NamedTuple):
    """One pattern for the beginnings that all strategies look for, a named group each; what takes up a match of each
    group; the characters with which a candidate may begin, and these with the patterns that begin with a common one: a
    search for them is what prose costs; and what is passed over before each of those is searched for by itself."""

    events: re.Pattern[str]
    takes: dict[str, Take | None]
    starts: str
    hints: tuple[Target, ...]
    near: re.Pattern[str]


@cache
@preparing()
def _search() -> _Search:
    strategies: dict[str, Strategy] = plugins.collect("webapp.parsing.strategies")
    ordered = sorted((s for s in strategies.values() if s.pattern), key=lambda strategy: strategy.order)
    events = re.compile("|".join(f"(?P<{strategy.name}>{strategy.pattern})" for strategy in ordered))
    starts = "".join(sorted({char for strategy in ordered for char in strategy.starts}))
    hinted = sorted({(strategy.hint, strategy.hint_needs) for strategy in ordered if strategy.hint})
    patterns = [Target(hint[0], re.compile(hint), re.compile(needs) if needs else None) for hint, needs in hinted]
    begins = "".join(sorted({*starts, *(target.char for target in patterns)}))
    near = re.compile(rf"[^{re.escape(begins)}]{{0,{NEAR}}}+")
    takes = {strategy.name: strategy.take for strategy in ordered}
    return _Search(events, takes, starts, (*map(Target, starts), *patterns), near)

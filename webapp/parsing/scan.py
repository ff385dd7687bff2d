"""One pass over a region of the text, from one possible beginning of JSON to the next, for all strategies at once."""

from __future__ import annotations

import re
from functools import cache

from webapp import plugins
from webapp.parsing.finder import Finder
from webapp.parsing.multi_search import MultiSearch, Target
from webapp.parsing.strategy import Strategy, Take

MOST = 4_000
"""So many attempts are made; a response with more values than that is not read to its end, and the trace says so."""

NEAR = 40
"""So many characters behind a candidate are looked at one by one: in dense text the next one begins there."""


def scan_region(finder: Finder, start: int, end: int) -> None:
    """Let the strategies look at `raw[start:end]`."""
    raw, attempts, at = finder.tracer.raw, finder.tracer.attempts, finder.enter(start, end)
    match_event, takes, starts, pass_near = _events().match, _takes(), _starts(), _near().match
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
        hints = hints or MultiSearch(raw, at, end, _hints())
        if (near := hints.next(at)) is None:
            break
        at, near_end = near
    finder.leave(at)


@cache
def _strategies() -> dict[str, Strategy]:
    return plugins.collect("webapp.parsing.strategies")


@cache
def _takes() -> dict[str, Take | None]:
    return {name: strategy.take for name, strategy in _strategies().items()}


@cache
def _starts() -> str:
    """The characters with which a candidate may begin."""
    return "".join(sorted({char for strategy in _strategies().values() for char in strategy.starts}))


@cache
def _near() -> re.Pattern[str]:
    """The characters that begin no candidate and are passed over before each hint is searched for by itself."""
    begins = {target.char for target in _hints()}
    return re.compile(rf"[^{re.escape(''.join(sorted(begins)))}]{{0,{NEAR}}}+")


@cache
def _hints() -> tuple[Target, ...]:
    """The characters and the patterns with which any candidate begins: a search for them is what prose costs."""
    hints = sorted({(strategy.hint, strategy.hint_needs) for strategy in _strategies().values() if strategy.hint})
    patterns = (Target(hint[0], re.compile(hint), re.compile(needs) if needs else None) for hint, needs in hints)
    return (*map(Target, _starts()), *patterns)


@cache
def _events() -> re.Pattern[str]:
    """One pattern for the beginnings that all strategies look for, a named group each."""
    ordered = sorted((s for s in _strategies().values() if s.pattern), key=lambda strategy: strategy.order)
    return re.compile("|".join(f"(?P<{strategy.name}>{strategy.pattern})" for strategy in ordered))

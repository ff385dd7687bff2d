"""One pass over a region of the text, from one possible beginning of JSON to the next, for all strategies at once."""

from __future__ import annotations

import re
from functools import cache

from webapp import plugins
from webapp.parsing.finder import Finder
from webapp.parsing.strategy import Strategy

MOST = 4_000
"""So many attempts are made; a response with more values than that is not read to its end, and the trace says so."""


def scan_region(finder: Finder, start: int, end: int) -> None:
    """Let the strategies look at `raw[start:end]`."""
    raw, attempts, at = finder.tracer.raw, finder.tracer.attempts, finder.enter(start, end)
    hint, pattern, strategies = _hint(), _events(), _strategies()
    near_end = at  # the first look is at the very beginning, whatever stands there
    while True:
        if len(attempts) > MOST:
            finder.give_up(at)
            break
        match = pattern.match(raw, at, end)
        take = strategies[match.lastgroup or ""].take if match else None
        at = max(take(finder, match), at + 1) if match and take else near_end
        if (near := hint.search(raw, at, end)) is None:
            break
        at, near_end = near.span()
    finder.leave(at)


@cache
def _strategies() -> dict[str, Strategy]:
    return plugins.collect("webapp.parsing.strategies")


@cache
def _hint() -> re.Pattern[str]:
    """The characters with which any candidate begins: a search for one of them is what prose costs.

    It begins with one set of characters, which `re` looks for several times as fast as for a choice of patterns.
    """
    starts = "".join(sorted({char for strategy in _strategies().values() for char in strategy.starts}))
    hints = [strategy.hint for strategy in _strategies().values() if strategy.hint]
    common = "".join(sorted({hint[0] for hint in hints}))
    rests = "".join(f"|(?<={hint[0]}){hint[1:]}" for hint in hints)
    return re.compile(f"[{re.escape(starts + common)}](?:(?<![{re.escape(common)}]){rests})")


@cache
def _events() -> re.Pattern[str]:
    """One pattern for the beginnings that all strategies look for, a named group each."""
    ordered = sorted((s for s in _strategies().values() if s.pattern), key=lambda strategy: strategy.order)
    return re.compile("|".join(f"(?P<{strategy.name}>{strategy.pattern})" for strategy in ordered))

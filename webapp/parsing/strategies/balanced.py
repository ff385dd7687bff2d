"""An object or array that begins at an opening bracket in prose."""

from __future__ import annotations

import re

from webapp.parsing import plausible, scan
from webapp.parsing.patterns import later
from webapp.parsing.strategies import lines
from webapp.parsing.strategy import Strategy

_empty = later(r"[\[{]\s{0,200}+[\]}]|\[[-\d.,\seE+]{0,500}+\]")


def _take(finder: scan.Finder, match: re.Match[str]) -> int:
    raw, at = finder.tracer.raw, match.start()
    reason = plausible.why_not(raw, at, finder.end, lenient=finder.lenient(at) or finder.meant)
    if reason:
        return _reject(finder, at, reason)
    tier = scan.MARKED if finder.meant else scan.PROSE
    weak = _empty.match(raw, at, finder.end)
    if weak and tier == scan.PROSE:
        tier = scan.WEAK
    last = finder.tracer.attempts[finder.found[-1][1]].span.end if finder.found else 0
    name = "lines" if lines.on_a_line(raw, last, at) else "balanced"
    return finder.consider(name, at, None, tier)


def _reject(finder: scan.Finder, at: int, reason: str) -> int:
    """Pass over a bracket that begins no JSON; over all of what it holds, where that is a piece of program."""
    raw = finder.tracer.raw
    if ("program" in reason and "placeholder" not in reason) or "Python" in reason or "shell" in reason:
        end = finder.skip(at, finder.end)
        if end > at:
            return finder.reject("balanced", at, end, reason)
    end = at + 1
    while end < finder.end and raw[end] == raw[at]:
        end += 1
    return finder.reject("balanced", at, end, reason)


plugin = Strategy("balanced", r"[{\[]", "{[", 90, _take)

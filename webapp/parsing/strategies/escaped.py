"""A value inside an escaped string: its quotes have backslashes before them."""

from __future__ import annotations

import re

from webapp.parsing import escaped, scan
from webapp.parsing.strategy import Strategy


def _take(finder: scan.Finder, match: re.Match[str]) -> int:
    raw, at = finder.tracer.raw, match.start()
    if finder.skips < 0:
        return finder.reject("escaped", at, match.end(), "an escaped quote follows, and the budget is used up")
    layer = escaped.peel(raw, at, finder.end)
    finder.skips -= layer.end - at
    return finder.unescaped(at, layer, scan.MARKED if finder.lenient(at) else scan.PROSE)


plugin = Strategy(
    "escaped",
    r"[{\[](?:\s|\\[nrt]){0,200}(?:[{\[](?:\s|\\[nrt]){0,200})?\\\"",
    "{[",
    30,
    _take,
)

"""A value inside an escaped string: its quotes have backslashes before them."""

from __future__ import annotations

import re

from webapp.parsing import escaped
from webapp.parsing.finder import MARKED, PROSE, Finder
from webapp.parsing.strategy import Strategy


def _take(finder: Finder, match: re.Match[str]) -> int:
    raw, at = finder.tracer.raw, match.start()
    if finder.skips < 0:
        return finder.reject("escaped", at, match.end(), "an escaped quote follows, and the budget is used up")
    heavy = escaped.layer_at(raw, at, finder.end, match.end() - 3) if match[0].endswith('\\\\"') else None
    layer = heavy or escaped.peel(raw, at, finder.end)
    finder.skips -= layer.end - at
    return finder.unescaped(at, layer, MARKED if finder.lenient(at) else PROSE)


plugin = Strategy(
    "escaped",
    r"[{\[](?:\s|\\[nrt]){0,200}(?:[{\[](?:\s|\\[nrt]){0,200})?\\{1,3}\"",
    "{[",
    30,
    _take,
)

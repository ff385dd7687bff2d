"""A Python tuple that is the whole response: ("a", "b")."""

from __future__ import annotations

import re

from webapp.parsing.finder import WEAK, Finder
from webapp.parsing.strategy import Strategy


def _take(finder: Finder, match: re.Match[str]) -> int:
    return finder.consider("parenthesized", match.end() - 1, None, WEAK)


_TUPLE = r"\A\s{0,50}+\((?=\s*+[\"'\d(-][^()]{0,2000}\)\s*+\Z)"
plugin = Strategy("parenthesized", _TUPLE, order=85, take=_take)

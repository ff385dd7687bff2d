"""The next of several characters and patterns in a text, each searched for by itself.

A search for one character, or for a pattern that begins with one, is a plain scan of memory. `re` looks for a set of
characters some ten times as slowly, and most of a response is prose without any of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

Place = tuple[int, int]
"""Start and end of what stands there."""


class MultiSearch:
    """Finds the next place in `raw[start:end]` where one of `chars` stands or one of `patterns` matches.

    Of two at one place the longer one counts. Asked for growing offsets, each search passes over the text once.
    """

    __slots__ = ("_ahead", "_end", "_raw")

    def __init__(self, raw: str, start: int, end: int, chars: str, patterns: Iterable[re.Pattern[str]] = ()) -> None:
        self._raw, self._end = raw, end
        self._ahead: list[tuple[Place, str | re.Pattern[str]]] = []
        for char in chars:
            if (at := raw.find(char, start, end)) >= 0:
                self._ahead.append(((at, at + 1), char))
        for pattern in patterns:
            if match := pattern.search(raw, start, end):
                self._ahead.append((match.span(), pattern))

    def next(self, at: int) -> Place | None:
        """The nearest place that begins at `at` or later, or None."""
        nearest: Place | None = None
        for index in range(len(self._ahead) - 1, -1, -1):
            place, target = self._ahead[index]
            if place[0] < at:
                later = self._search(target, at)
                if later is None:
                    del self._ahead[index]
                    continue
                place = later
                self._ahead[index] = place, target
            if nearest is None or place[0] < nearest[0] or (place[0] == nearest[0] and place[1] > nearest[1]):
                nearest = place
        return nearest

    def _search(self, target: str | re.Pattern[str], at: int) -> Place | None:
        if isinstance(target, str):
            start = self._raw.find(target, at, self._end)
            return (start, start + 1) if start >= 0 else None
        match = target.search(self._raw, at, self._end)
        return match.span() if match else None

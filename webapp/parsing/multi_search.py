"""The next of several characters and patterns in a text, each searched for by itself.

A search for one character is a plain scan of memory. `re` looks for a set of characters some ten times as slowly, and
most of a response is prose without any of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

Place = tuple[int, int]
"""Start and end of what stands there."""


class Target(NamedTuple):
    """A character, and the pattern that must match where it stands, if any.

    `needs` is a pattern that costs less, without which `pattern` matches nowhere in a text.
    """

    char: str
    pattern: re.Pattern[str] | None = None
    needs: re.Pattern[str] | None = None


_Ahead = tuple[int, int, int, Target]
"""The next place of a target: its start, its end below zero, so that the longer goes first, and which target it is."""


class MultiSearch:
    """Finds the next place in `raw[start:end]` where one of `targets` is met.

    Of two at one place the longer one counts. Asked for growing offsets, each search passes over the text once.
    """

    __slots__ = ("_ahead", "_end", "_raw")

    def __init__(self, raw: str, start: int, end: int, targets: Iterable[Target]) -> None:
        self._raw, self._end = raw, end
        self._ahead: list[_Ahead] = []
        text = raw[start:end]
        for order, target in enumerate(targets):
            char, _, needs = target
            if char not in text or (needs and not needs.search(raw, start, end)):
                continue
            if (first := raw.find(char, start, end)) >= 0 and (met := self._met(first, order, target)):
                self._ahead.append(met)
        heapify(self._ahead)

    def next(self, at: int) -> Place | None:
        """The nearest place that begins at `at` or later, or None."""
        ahead = self._ahead
        while ahead:
            start, minus_end, order, target = ahead[0]
            if start >= at:
                return start, -minus_end
            first = self._raw.find(target[0], at, self._end)
            if first >= 0 and target[1] is None:
                heapreplace(ahead, (first, -first - 1, order, target))
            elif first >= 0 and (met := self._met(first, order, target)):
                heapreplace(ahead, met)
            else:
                heappop(ahead)
        return None

    def _met(self, first: int, order: int, target: Target) -> _Ahead | None:
        """Where `target` is met, whose character stands at `first` for the first time."""
        pattern = target[1]
        if pattern is None:
            return first, -first - 1, order, target
        match = pattern.search(self._raw, first, self._end)
        return (match.start(), -match.end(), order, target) if match else None

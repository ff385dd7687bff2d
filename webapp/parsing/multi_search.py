"""The next of several characters and patterns in a text, each searched for by itself.

A search for one character is a plain scan of memory. `re` looks for a set of characters some ten times as slowly, and
most of a response is prose without any of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

Place = tuple[int, int]
"""Start and end of what stands there."""
Target = tuple[str, "re.Pattern[str] | None"]
"""A character, and the pattern that must match where it stands, if any."""


class MultiSearch:
    """Finds the next place in `raw[start:end]` where one of `targets` is met.

    Of two at one place the longer one counts. Asked for growing offsets, each search passes over the text once.
    """

    __slots__ = ("_ahead", "_end", "_raw")

    def __init__(self, raw: str, start: int, end: int, targets: Iterable[Target]) -> None:
        self._raw, self._end = raw, end
        self._ahead: list[tuple[int, int, Target]] = []
        text = raw[start:end]
        for target in targets:
            if target[0] in text and (place := self._place(target, raw.find(target[0], start, end))):
                self._ahead.append((*place, target))

    def next(self, at: int) -> Place | None:
        """The nearest place that begins at `at` or later, or None."""
        ahead = self._ahead
        nearest = stop = -1
        for index in range(len(ahead) - 1, -1, -1):
            start, end, target = ahead[index]
            if start < at:
                first = self._raw.find(target[0], at, self._end)
                place = self._place(target, first) if first >= 0 else None
                if place is None:
                    del ahead[index]
                    continue
                start, end = place
                ahead[index] = start, end, target
            if nearest < 0 or start < nearest or (start == nearest and end > stop):
                nearest, stop = start, end
        return (nearest, stop) if nearest >= 0 else None

    def _place(self, target: Target, first: int) -> Place | None:
        """Where `target` is met, whose character stands at `first` for the first time."""
        pattern = target[1]
        if pattern is None:
            return first, first + 1
        match = pattern.search(self._raw, first, self._end)
        return match.span() if match else None

"""Passes over an item of JSON without decoding it: where it ends is told by its brackets, a piece of text at a time."""

from __future__ import annotations

import re
from itertools import accumulate

_NO_BRACKETS = re.compile(
    r"""(?:[^\[\]{}"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")++  # what is no bracket, strings included
      | (")[^"\\]*+(?:\\.[^"\\]*+)*+\Z                  # a string that goes on in the next piece: its quote stays""",
    re.S | re.X,
)
_STRING_END = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.S)
_MARK = re.compile(r'[\[\]{},]|"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.S)
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


class Passing:
    """How far one is through an item: `level` brackets deep, and whether inside a string.

    A piece is gone through by patterns, and only the one in which the item ends a mark at a time, so that gigabytes
    take seconds.
    """

    def __init__(self, level: int = 0, *, quoted: bool = False, ends: str = ",]") -> None:
        self._ends = ends
        self._level = level
        self._quoted = quoted
        self._carried = ""

    def end(self, piece: str) -> int | None:
        """Where in the next `piece` the item ends, at one of `ends`; None where it goes on."""
        carried, text = len(self._carried), self._carried + piece
        kept = len(text) - (len(text) - len(text.rstrip("\\"))) % 2
        self._carried = text[kept:]
        found = self._end(text[:kept])
        return None if found is None else max(0, found - carried)

    def _end(self, text: str) -> int | None:
        start = 0
        if self._quoted:
            if (match := _STRING_END.match(text)) is None:
                return None
            start, self._quoted = match.end(), False
        brackets, quote, _ = _NO_BRACKETS.sub(r"\1", text[start:]).partition('"')
        closing = brackets.count("]") + brackets.count("}")
        self._quoted = bool(quote)
        if closing >= self._level and self._level + min(accumulate(map(_STEP.__getitem__, brackets), initial=0)) <= 0:
            return self._stepped(text, start)
        self._level += len(brackets) - 2 * closing
        return None

    def _stepped(self, text: str, start: int) -> int | None:
        for match in _MARK.finditer(text, start):
            mark = match[0]
            if self._level <= 0 and mark in self._ends:
                return match.start()
            self._level = max(0, self._level + _STEP.get(mark, 0))
        return None

"""Passes over an item of JSON without decoding it: where it ends is told by its brackets, a piece of text at a time."""

from __future__ import annotations

import re
from itertools import accumulate

SLICE = 256 * 1024
_ESCAPE = re.compile(r"\\.", re.S)
_NO_BRACKETS = re.compile(r"[^\[\]{}]++")
_STRING_END = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.S)
_MARK = re.compile(r'[\[\]{},]|"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<closed>"?)', re.S)
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


class ItemSkipper:
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
        for at in range(0, len(piece), SLICE):
            if (end := self._end(piece[at : at + SLICE])) is not None:
                return at + end
        return None

    def _end(self, piece: str) -> int | None:
        carried, text = len(self._carried), self._carried + piece
        sound_length = len(text) - (len(text) - len(text.rstrip("\\"))) % 2
        text, self._carried = text[:sound_length], text[sound_length:]
        parts = (_ESCAPE.sub("", text) if "\\" in text else text).split('"')
        outside = "".join(parts[self._quoted :: 2])
        opening, closing = (outside.count(pair[0]) + outside.count(pair[1]) for pair in ("[{", "]}"))
        if closing >= self._level and self._may_end(outside):
            place = self._stepped(text)
            return None if place is None else max(0, place - carried)
        self._level += opening - closing
        self._quoted ^= len(parts) % 2 == 0
        return None

    def _may_end(self, outside: str) -> bool:
        steps = map(_STEP.__getitem__, _NO_BRACKETS.sub("", outside))
        return self._level + min(accumulate(steps, initial=0)) <= 0

    def _stepped(self, text: str) -> int | None:
        start = 0
        if self._quoted:
            match = _STRING_END.match(text)
            self._quoted, start = match is None, match.end() if match else len(text)
        for match in _MARK.finditer(text, start):
            mark = match[0]
            if self._level <= 0 and mark in self._ends:
                return match.start()
            self._level = max(0, self._level + _STEP.get(mark, 0))
            self._quoted = mark[0] == '"' and not match["closed"]
        return None

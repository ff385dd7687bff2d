"""The part of a long JSON text that is in memory, and how to go on in it behind a damaged item."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import accumulate, chain
from typing import Any

from webapp.dumps.budget import Allowance, TooLarge, check_json, current
from webapp.dumps.decoding import Damage, Decoder, skip_space

SLICE = 256 * 1024
_ESCAPE = re.compile(r"\\.", re.S)
_NO_BRACKETS = re.compile(r"[^\[\]{}]++")
_STRING_END = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.S)
_MARK = re.compile(r'\\.|[\[\]{},]|"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<closed>"?)', re.S)
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


class ItemSkipper:
    """How far one is through an item: how many brackets deep, and whether inside a string (`quoted`).

    A piece is gone through by patterns, and only the one in which the item ends a mark at a time, so that gigabytes
    take seconds. A backslash takes the next character with it, wherever it stands.
    """

    def __init__(self, *, ends: str = ",]") -> None:
        self._ends = ends
        self._level = 0
        self.quoted = False
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
        outside = "".join(parts[self.quoted :: 2])
        opening, closing = (outside.count(pair[0]) + outside.count(pair[1]) for pair in ("[{", "]}"))
        if closing >= self._level and self._may_end(outside):
            place = self._stepped(text)
            return None if place is None else max(0, place - carried)
        self._level += opening - closing
        self.quoted ^= len(parts) % 2 == 0
        return None

    def _may_end(self, outside: str) -> bool:
        steps = map(_STEP.__getitem__, _NO_BRACKETS.sub("", outside))
        return self._level + min(accumulate(steps, initial=0)) <= 0

    def _stepped(self, text: str) -> int | None:
        start = 0
        if self.quoted:
            match = _STRING_END.match(text)
            self.quoted, start = match is None, match.end() if match else len(text)
        for match in _MARK.finditer(text, start):
            mark = match[0]
            if self._level <= 0 and mark in self._ends:
                return match.start()
            self._level = max(0, self._level + _STEP.get(mark, 0))
            self.quoted = mark[0] == '"' and not match["closed"]
        return None


NEAR = 4 * 1024 * 1024
"""Characters up to which an item is decoded while its end is looked for; beyond it is read on to there first."""
AHEAD = 512
"""Characters that are held behind a comma of which it is asked whether the next item follows it."""
CAREFUL = 8 * 1024 * 1024
"""Characters of a damaged item in which the next item's beginning is looked for; beyond, its brackets are trusted."""

_LONGEST_KEY = 202
"""characters, with its quotes"""
_FIRST_KEY = re.compile(r'\s*\{\s*"([^"\\]{1,200})"\s*:')


class TooLong(Damage):
    """An item is longer, or has more values, than the budget lets it."""


class Window:
    """The part of the text being looked at, which moves on; `at` is the place in it, `base` where it begins."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self.text = ""
        self.at = 0
        self.base = 0
        self.ended = False
        self.cut = False
        """whether the end of the text was already told as a problem"""
        self.decoder = Decoder()
        self._chunks = chunks

    def more(self) -> bool:
        """Drop what lies behind and read on, at least as much as is still held, so that retries stay linear."""
        rest = self.text[self.at :]
        self.base += self.at
        self.at = 0
        parts, least, got = [rest], max(1, len(rest)), 0
        while got < least and (chunk := next(self._chunks, None)) is not None:
            parts.append(chunk)
            got += len(chunk)
        self.text = "".join(parts)
        self.ended = got < least
        return got > 0

    def pass_over(self, skipper: ItemSkipper) -> None:
        """Leave the item that `skipper` is in, or stand at the end; nothing of it is held."""
        while (end := skipper.end(self.text[self.at :])) is None:
            self.at = len(self.text)
            if self.ended or not self.more():
                return
        self.at += end

    def place(self, at: int) -> str:
        return f"character {self.base + at}"

    def peek(self) -> str:
        """The next character that is no space, at which the window then stands; "" at the end."""
        while True:
            self.at = skip_space(self.text, self.at)
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended or not self.more():
                return ""

    def value(self) -> Any:
        """Decode the value at `at` and step behind it. Raises `Damage` and stays; its `at` counts from the start."""
        while True:
            try:
                value, end = self.decoder.value(self.text, self.at)
            except Damage as damage:
                if self._may_be_cut(damage):
                    self._wider()
                    continue
                raise Damage(damage.reason, self.base + damage.at) from None
            if len(self.text) - end < 4 and self.text[self.at] not in '{["' and not self.ended:
                self._wider()
                continue
            self.at = end
            return value

    def _may_be_cut(self, damage: Damage) -> bool:
        """Whether the error may come from the window's end; the longest token that can be cut is -Infinity."""
        return not self.ended and (damage.reason.startswith("unterminated") or damage.at > len(self.text) - 16)

    def _wider(self) -> None:
        size = len(self.text) - self.at
        if reason := current().too_long(size):
            raise TooLong(reason, self.base + self.at)
        if size < NEAR:
            self.more()
        else:
            self._gather(size)
        try:
            check_json(self.text, Allowance(), self.at)
        except TooLarge as large:
            raise TooLong(large.reason, self.base + self.at) from None

    def _gather(self, size: int) -> None:
        """Read on to where the item seems to end, at least as much as is held."""
        skipper, parts, got = ItemSkipper(), list[str](), 0
        ends = skipper.end(self.text[self.at :]) is not None
        while (not ends or got < size) and not current().too_long(size + got):
            if (chunk := next(self._chunks, None)) is None:
                self.ended = True
                break
            parts.append(chunk)
            ends = ends or skipper.end(chunk) is not None
            got += len(chunk)
        if (reason := current().too_long(size + got)) and not ends:
            self._chunks = chain(parts, self._chunks)
            raise TooLong(reason, self.base + self.at)
        self.base, self.at, self.text = self.base + self.at, 0, "".join([self.text[self.at :], *parts])


class Resync:
    """Finds where the next item begins after a damaged one.

    Brackets are counted outside strings until the comma or bracket that ends the item. Where the damage hides
    that place (a quote too few, a closer too few), a comma followed by an object that begins with the same key
    as the last good item is taken, if that object decodes and shares more than half of that item's keys.
    """

    def __init__(self) -> None:
        self.keys: frozenset[str] = frozenset()
        self._first: str | None = None

    def learn(self, value: Any) -> None:
        """Remember a good item's keys."""
        if isinstance(value, dict) and value:
            self._first = next(iter(value))
            if len(value) != len(self.keys):
                self.keys = frozenset(value)

    def skip(self, window: Window) -> None:
        """Leave `window` at the comma or bracket behind the damaged item it stands at, or at the end.

        Farther away than `CAREFUL`, or where the file's time is used up, the brackets alone are trusted, since each of
        these marks costs a step.
        """
        with current().spending() as budget:
            if budget.is_late():
                window.pass_over(ItemSkipper())
            else:
                self._skip(window)

    def _skip(self, window: Window) -> None:
        """Go from one comma that may be the one to the next, until it is or the item ends by its brackets."""
        anchor, skipper, until = self._anchor(window), ItemSkipper(), window.base + window.at + CAREFUL
        tried = 0
        while window.base <= until:
            _look_ahead(window)
            held = len(window.text) - (0 if window.ended else AHEAD)
            comma = anchor.search(window.text, window.at + tried) if anchor else None
            comma = comma if comma and comma.start() < held else None
            stop = comma.start() if comma else held
            end = skipper.end(window.text[window.at : stop])
            window.at = stop if end is None else window.at + end
            if end is not None or (comma is None and window.ended):
                return
            if comma and self._is_next(window, comma.end(), skipper.quoted):
                return
            tried = 1 if comma else 0
        window.pass_over(skipper)

    def _anchor(self, window: Window) -> re.Pattern[str] | None:
        _look_ahead(window)
        match = _FIRST_KEY.match(window.text, window.at)
        first = match[1] if match else self._first
        key = json.dumps(first, ensure_ascii=False)
        if not first or len(key) > _LONGEST_KEY:
            return None
        return re.compile(rf",\s{{0,100}}+(?=\{{\s{{0,100}}{re.escape(key)}\s{{0,100}}:)")  # all of it within AHEAD

    def _is_next(self, window: Window, at: int, quoted: bool) -> bool:
        if not self.keys:
            return quoted
        try:
            value, _ = window.decoder.value(window.text, at)
        except Damage:
            return quoted
        return isinstance(value, dict) and 2 * len(self.keys & value.keys()) > len(self.keys)


def _look_ahead(window: Window) -> None:
    while len(window.text) - window.at <= AHEAD and not window.ended:
        window.more()

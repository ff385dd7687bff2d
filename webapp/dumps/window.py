"""The part of a long JSON text that is in memory, and how to go on in it behind a damaged item."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.decoding import Damage, Decoder, skip_space

MAX_ITEM = 64 * 1024 * 1024
"""The longest single item in characters; there is no way to decode one without holding it, some six times over."""

_TOKEN = re.compile(r'["\\{}\[\],]')
_FIRST_KEY = re.compile(r'\s*\{\s*"([^"\\]{1,200})"\s*:')


class Window:
    """The part of the text being looked at, which moves on; `at` is the place in it, `base` where it begins."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self.text = ""
        self.at = 0
        self.base = 0
        self.ended = False
        self.cut = False
        """whether the end of the text was already reported as a problem"""
        self.given_up = False
        """whether the rest was not looked at, because no end of a damaged item was found"""
        self.decoder = Decoder()
        self._chunks = chunks

    def more(self) -> bool:
        """Drop what lies behind and read on, at least as much as is still held, so that retries stay linear."""
        rest = self.text[self.at :]
        self.base += self.at
        self.at = 0
        parts, wanted, got = [rest], max(1, len(rest)), 0
        while got < wanted and (chunk := next(self._chunks, None)) is not None:
            parts.append(chunk)
            got += len(chunk)
        self.text = "".join(parts)
        self.ended = got < wanted
        return got > 0

    def give_up(self) -> None:
        """Take this for the end."""
        self.at = len(self.text)
        self.ended = self.given_up = True

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
        if len(self.text) - self.at > MAX_ITEM:
            raise Damage(f"longer than {MAX_ITEM // 2**20} million characters", self.base + self.at)
        self.more()


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

        An item whose end is farther away than `MAX_ITEM` ends the reading: each of its brackets costs a step.
        """
        anchor = self._anchor(window)
        level, quoted, until = 0, False, window.base + window.at + MAX_ITEM
        while True:
            match = _TOKEN.search(window.text, window.at)
            if match is None:
                window.at = len(window.text)
                if window.base + window.at > until:
                    window.give_up()
                if window.ended or not window.more():
                    return
                continue
            window.at = match.start()
            mark = match[0]
            if mark == "\\" and window.at + 2 > len(window.text) and window.more():
                continue
            if mark == "," and anchor and self._is_next(window, anchor, quoted):
                return
            if not quoted and level <= 0 and mark in ",]":
                return
            window.at += 2 if mark == "\\" and quoted else 1
            quoted ^= mark == '"'
            if not quoted:
                level = max(0, level + (mark in "{[") - (mark in "}]"))

    def _anchor(self, window: Window) -> re.Pattern[str] | None:
        if len(window.text) - window.at < 512 and not window.ended:
            window.more()
        match = _FIRST_KEY.match(window.text, window.at)
        first = match[1] if match else self._first
        return (
            re.compile(r",\s*(?=\{\s*" + re.escape(json.dumps(first, ensure_ascii=False)) + r"\s*:)") if first else None
        )

    def _is_next(self, window: Window, anchor: re.Pattern[str], quoted: bool) -> bool:
        if len(window.text) - window.at < 512 and not window.ended:
            window.more()
        match = anchor.match(window.text, window.at)
        if match is None:
            return False
        if not self.keys:
            return quoted
        try:
            value, _ = window.decoder.value(window.text, match.end())
        except Damage:
            return quoted
        return isinstance(value, dict) and 2 * len(self.keys & value.keys()) > len(self.keys)

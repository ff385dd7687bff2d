"""Walks a JSON document piece by piece: the items of its long lists one at a time, past damaged ones too.

ijson, which the plan named, was tried and left: it stops for good at the first literal NaN (which older Windlass
logs write for every null), refuses lone surrogates in UTF-8 text and cannot read past one bad item. This reader
decodes each item with the standard library's C scanner out of a window of text, so it is about as fast as
`json.load`, reads all that `json.loads` reads (and raw control characters in strings), and carries on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webapp.dumps.records import BadDump, Problem

MAX_DEPTH = 400
"""What is nested deeper cannot safely be written again by the standard library from within a deep call stack."""
MAX_ITEM = 512 * 1024 * 1024
"""The longest single item in characters; there is no way to decode one without holding it."""

_SPACE = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(r'["\\{}\[\],]')
_FIRST_KEY = re.compile(r'\s*\{\s*"([^"\\]{1,200})"\s*:')


class Damage(ValueError):
    """A value cannot be decoded; `at` is the character at which it went wrong."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a streamed list: `key` is the list's name, "" for a list that is the document itself."""

    key: str
    index: int
    value: Any

    @property
    def at(self) -> str:
        return f"{self.key}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the document that is not streamed, whole."""

    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class Opened:
    """A streamed list begins, which may be empty."""

    key: str


Part = Item | Member | Opened | Problem


class Decoder:
    """`json.loads` for one value, which also notices keys that stand twice in one object (`repeated`)."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self._scan = json.JSONDecoder(strict=False, object_pairs_hook=self._pairs).raw_decode

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            self.repeated.extend(key for key in found if keys.count(key) > 1)
        return found

    def value(self, text: str, at: int) -> tuple[Any, int]:
        """The value at `at` and where it ends. Raises `Damage`."""
        self.repeated.clear()
        try:
            value, end = self._scan(text, at)
        except json.JSONDecodeError as error:
            raise Damage(_lower(error.msg), error.pos) from None
        except RecursionError:
            raise Damage(f"nested deeper than {MAX_DEPTH} levels", at) from None
        except ValueError:
            raise Damage("holds a number of more than 4300 digits", at) from None
        if end - at > MAX_DEPTH and _brackets(text, at, end) > MAX_DEPTH and depth(value) > MAX_DEPTH:
            raise Damage(f"nested deeper than {MAX_DEPTH} levels", at)
        return value, end

    def loads(self, text: str) -> Any:
        """One value and nothing else but space. Raises `Damage`."""
        value, end = self.value(text, _space(text, 0))
        if (end := _space(text, end)) < len(text):
            raise Damage("something follows the value", end)
        return value

    def repeats(self, at: str) -> Iterator[Problem]:
        """A problem for each key that stood twice in the value decoded last."""
        for key in dict.fromkeys(self.repeated):
            yield Problem(at, f"the key {key!r} stands twice in one object; the last one was kept")


def _brackets(text: str, at: int, end: int) -> int:
    return text.count("[", at, end) + text.count("{", at, end)


def depth(value: Any) -> int:
    """How many lists and objects `value` is nested, found without recursion."""
    deepest, todo = 0, [(value, 1)]
    while todo:
        inner, level = todo.pop()
        if isinstance(inner, dict | list):
            deepest = max(deepest, level)
            todo.extend((child, level + 1) for child in (inner.values() if isinstance(inner, dict) else inner))
    return deepest


def kind_of(value: Any) -> str:
    """What JSON calls a value, with its article, for messages."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    names = ((dict, "an object"), (list, "a list"), (str, "a text"), (int | float, "a number"))
    return next((name for kind, name in names if isinstance(value, kind)), type(value).__name__)


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


def _space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


class Window:
    """The part of the text being looked at, which moves on; `at` is the place in it, `base` where it begins."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self.text = ""
        self.at = 0
        self.base = 0
        self.ended = False
        self.cut = False
        """whether the end of the text was already reported as a problem"""
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

    def place(self, at: int) -> str:
        return f"character {self.base + at}"

    def peek(self) -> str:
        """The next character that is no space, at which the window then stands; "" at the end."""
        while True:
            self.at = _space(self.text, self.at)
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
        """Leave `window` at the comma or bracket behind the damaged item it stands at, or at the end."""
        anchor = self._anchor(window)
        level, quoted = 0, False
        while True:
            match = _TOKEN.search(window.text, window.at)
            if match is None:
                window.at = len(window.text)
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


def walk(chunks: Iterator[str], streamed: frozenset[str] | None) -> Iterator[Part]:
    """The parts of one JSON document in order; lists under a `streamed` key, or a list at the top, item by item.

    None streams the lists under all keys.

    Raises `BadDump` before the first part where the text is empty or begins neither with { nor [.
    Damage further on is a `Problem` with its place.
    """
    window = Window(chunks)
    first = window.peek()
    if not first:
        raise BadDump("the dump is empty", "byte 0")
    if first not in "{[":
        shown = json.dumps(window.text[window.at : window.at + 20])
        raise BadDump(f"not JSON: expected {{ or [ at the beginning, found {shown}", window.place(window.at))
    window.at += 1
    yield from _items(window, "") if first == "[" else _members(window, streamed)
    if window.peek():
        yield Problem(window.place(window.at), "something follows the end of the document; it was left out")


def _members(window: Window, streamed: frozenset[str] | None) -> Iterator[Part]:
    seen: set[str] = set()
    while (char := window.peek()) and char != "}":
        if char == ",":
            window.at += 1
            continue
        try:
            key = _key(window)
            if key in seen:
                yield Problem(key, f"the key {key!r} stands twice in the document")
            seen.add(key)
            if (streamed is None or key in streamed) and window.peek() == "[":
                window.at += 1
                yield from _items(window, key)
            else:
                value = window.value()
                yield from window.decoder.repeats(key)
                yield Member(key, value)
        except Damage as damage:
            yield Problem(f"character {damage.at}", _said(damage))
            if not (yield from _next_list(window, (streamed or frozenset()) - seen)):
                return
    yield from _closed(window, char, "the document")


def _key(window: Window) -> str:
    key = window.value()
    if not isinstance(key, str):
        raise Damage(f"expected a key in double quotes, found {kind_of(key)}", window.base + window.at)
    if window.peek() != ":":
        raise Damage("expected a colon after the key", window.base + window.at)
    window.at += 1
    window.peek()
    return key


def _next_list(window: Window, streamed: frozenset[str]) -> Any:
    """After damage among the members: find a list that is still wanted and read it. Gives whether there was one."""
    if not streamed:
        return False
    names = "|".join(re.escape(json.dumps(key)) for key in sorted(streamed))
    wanted = re.compile(rf"({names})\s*:\s*\[")
    while (match := wanted.search(window.text, window.at)) is None:
        window.at = max(window.at, len(window.text) - 512)
        if window.ended or not window.more():
            return False
    window.at = match.end()
    yield from _items(window, json.loads(match[1]))
    return True


def _items(window: Window, key: str) -> Iterator[Part]:
    """The items of the list whose bracket was just passed; leaves the window behind its end."""
    yield Opened(key)
    resync, index, comma = Resync(), 0, True
    while (char := window.peek()) and char != "]":
        if char == ",":
            if comma:
                yield Problem(f"{key}[{index}]", f"a comma too many ({window.place(window.at)})")
            window.at, comma = window.at + 1, True
            continue
        if not comma:
            comma = char == "{"
            yield from _missing_comma(window, resync, f"{key}[{index}]")
            continue
        try:
            value = window.value()
        except Damage as damage:
            yield _left_out(window, resync, damage, f"{key}[{index}]")
        else:
            resync.learn(value)
            if window.decoder.repeated:
                yield from window.decoder.repeats(f"{key}[{index}]")
            yield Item(key, index, value)
        index, comma = index + 1, False
    if char and comma and index:
        yield Problem(f"{key}[{index}]", f"a comma too many ({window.place(window.at)})")
    yield from _closed(window, char, f"the list {key!r}" if key else "the list")


def _left_out(window: Window, resync: Resync, damage: Damage, at: str) -> Problem:
    """Pass a damaged item and say so."""
    resync.skip(window)
    window.cut = not window.peek()
    ending = "the dump ends before another one begins" if window.cut else "this one was left out"
    return Problem(at, f"{_said(damage)}; {ending}")


def _missing_comma(window: Window, resync: Resync, at: str) -> Iterator[Problem]:
    """Something other than a comma follows an item: another item, or rubbish up to the next comma."""
    if window.text[window.at] == "{":
        yield Problem(at, f"a comma is missing before it ({window.place(window.at)})")
        return
    yield Problem(at, f"expected a comma or ] before it ({window.place(window.at)}); what stood there was left out")
    resync.skip(window)


def _closed(window: Window, char: str, what: str) -> Iterator[Problem]:
    if char:
        window.at += 1
        return
    if not window.cut:
        yield Problem(window.place(window.at), f"the dump ends in the middle of {what}; what came before was read")
    window.cut = True


def _said(damage: Damage) -> str:
    return f"{damage.reason} (character {damage.at})"

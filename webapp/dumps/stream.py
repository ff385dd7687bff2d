"""Walks a JSON document piece by piece: the items of its long lists one at a time, past damaged ones too.

ijson was tried (3.6, its C backend) and left: it ends at the first literal NaN, which older
Windlass logs write for every null, and at the first invalid byte or bad item, with all that follows lost; a lone
surrogate's escape becomes "?" without a word. This reader decodes each item with the standard library's C scanner out
of a window of text, in about twice the time of `json.load`; it reads whatever `json.loads` reads, raw control
characters in strings too, and carries on behind what it cannot read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webapp.dumps.budget import BadDump
from webapp.dumps.decoding import Damage, Decoder, kind_of
from webapp.dumps.records import Problem
from webapp.dumps.values import as_object
from webapp.dumps.window import ItemSkipper, Resync, TooLong, Window


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
class DocumentMember:
    """A member of the document that is not streamed, whole."""

    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class ListStart:
    """A streamed list begins, which may be empty."""

    key: str


TAIL = 64 * 1024
"""bytes of a document's end, in which `trailing` looks"""
_LONGEST_KEY = 200
CUT = "the log ends before another one begins"
"""what is said of an item in whose middle the text ends"""
Part = Item | DocumentMember | ListStart | Problem


def walk(chunks: Iterator[str], streamed: frozenset[str] | None) -> Iterator[Part]:
    """The parts of one JSON document in order; lists under a `streamed` key, or a list at the top, item by item.

    None streams the lists under all keys.

    Raises `BadDump` before the first part where the text is empty or begins neither with { nor [.
    Damage further on is a `Problem` with its place.
    """
    window = Window(chunks)
    first = window.peek()
    if not first:
        raise BadDump("the log is empty", "byte 0")
    if first not in "{[":
        beginning = json.dumps(window.text[window.at : window.at + 20])
        raise BadDump(f"not JSON: expected {{ or [ at the beginning, found {beginning}", window.place(window.at))
    window.at += 1
    yield from _items(window, "") if first == "[" else _members(window, streamed)
    if window.peek():
        yield Problem(window.place(window.at), "something follows the end of the document; it was left out")


def _members(window: Window, streamed: frozenset[str] | None) -> Iterator[Part]:
    keys: set[str] = set()
    while (char := window.peek()) and char != "}":
        if char == ",":
            window.at += 1
            continue
        key = ""
        try:
            key = _key(window)
            if key in keys:
                yield Problem(key[:_LONGEST_KEY], f"the key {key[:_LONGEST_KEY]!r} occurs twice in the document")
            keys.add(key)
            if (streamed is None or key in streamed) and window.peek() == "[":
                window.at += 1
                yield from _items(window, key)
            else:
                value = window.value()
                yield from window.decoder.repeats(key)
                yield DocumentMember(key, value)
        except TooLong as long:
            yield Problem(key[:_LONGEST_KEY], f"{_reason(long)}; this one was left out")
            window.pass_over(ItemSkipper(ends=",}"))
        except Damage as damage:
            yield Problem(f"character {damage.at}", _reason(damage))
            if not (yield from _next_list(window, (streamed or frozenset()) - keys)):
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
    pattern = re.compile(rf"({names})\s*:\s*\[")
    while (match := pattern.search(window.text, window.at)) is None:
        window.at = max(window.at, len(window.text) - 512)
        if window.ended or not window.more():
            return False
    window.at = match.end()
    yield from _items(window, json.loads(match[1]))
    return True


def _items(window: Window, key: str) -> Iterator[Part]:
    """The items of the list whose bracket was just passed; leaves the window behind its end."""
    yield ListStart(key)
    resync, index, comma = Resync(), 0, True
    while (char := window.peek()) and char != "]":
        if char == ",":
            if comma:
                yield Problem(f"{key}[{index}]", f"a comma too many ({window.place(window.at)})")
                while window.peek() == ",":  # a run of commas is one problem, however long
                    window.at += 1
            else:
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
    ending = CUT if window.cut else "this one was left out"
    return Problem(at, f"{_reason(damage)}; {ending}")


def _missing_comma(window: Window, resync: Resync, at: str) -> Iterator[Problem]:
    """Something other than a comma follows an item: another item, or rubbish up to the next comma."""
    if window.text[window.at] == "{":
        yield Problem(at, f"a comma is missing before it ({window.place(window.at)})")
        return
    yield Problem(at, f"expected a comma or ] before it ({window.place(window.at)}); the text there was left out")
    resync.skip(window)


def _closed(window: Window, char: str, container: str) -> Iterator[Problem]:
    if char:
        window.at += 1
        return
    if not window.cut:
        yield Problem(window.place(window.at), f"the log ends in the middle of {container}; what came before was read")
    window.cut = True


def _reason(damage: Damage) -> str:
    return f"{damage.reason} (character {damage.at})"


def trailing(tail: str) -> dict[str, Any]:
    """The members behind a document's long list, of the document's last characters, without reading what lies before.

    What follows a `],` is a member of the document if, and only if, it reads as members up to the closing brace
    at the very end: inside an entry more would follow, inside a string the quotes would be escaped.
    """
    decoder = Decoder()
    for match in re.finditer(r'\]\s*,\s*(?=")', tail):
        try:
            return as_object(decoder.loads("{" + tail[match.end() :]))
        except Damage:
            continue
    return {}

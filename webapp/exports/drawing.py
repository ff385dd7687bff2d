"""The raw text of a response cut into stretches: what was read, removed, inserted, and where it failed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

Kind = Literal["plain", "read", "tried", "removed", "inserted", "fault"]


class Stretch(NamedTuple):
    """Text that looks the same throughout; `start` is its place in `raw`, `repair` what removed or inserted it."""

    kind: Kind
    start: int
    text: str
    repair: str | None = None


def stretches(raw: str, trace: dict[str, Any] | None) -> Iterator[Stretch]:
    """`raw` in order with the edits of the attempts that tell most: the chosen ones, else the last that failed."""
    at = 0
    for attempt in telling(trace):
        start, end = attempt["span"]
        if start < at:
            continue
        if start > at:
            yield Stretch("plain", at, raw[at:start])
        yield from _attempt(raw, attempt)
        at = end
    if at < len(raw):
        yield Stretch("plain", at, raw[at:])


def telling(trace: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The attempts to draw, in the order of their spans."""
    if trace is None:
        return []
    attempts = trace["attempts"]
    if trace["chosen"]:
        return sorted((attempts[index] for index in trace["chosen"]), key=lambda attempt: attempt["span"])
    failed = [attempt for attempt in attempts if attempt["outcome"] == "failed"]
    return failed[-1:]


def _attempt(raw: str, attempt: dict[str, Any]) -> Iterator[Stretch]:
    kind: Kind = "read" if attempt["outcome"] == "accepted" else "tried"
    fault = attempt["error"]["at"] if attempt["error"] else None
    at, end = attempt["span"]
    for edit in attempt["edits"]:
        start, stop = edit["span"]
        yield from _text(raw, at, start, kind, fault)
        if start < stop:
            yield Stretch("removed", start, raw[start:stop], edit["repair"])
        if edit["new"]:
            yield Stretch("inserted", stop, edit["new"], edit["repair"])
        at = stop
    yield from _text(raw, at, end, kind, fault)
    if fault is not None and fault >= end:
        yield Stretch("fault", end, "")


def _text(raw: str, start: int, end: int, kind: Kind, fault: int | None) -> Iterator[Stretch]:
    if fault is not None and start <= fault < end:
        if start < fault:
            yield Stretch(kind, start, raw[start:fault])
        yield Stretch("fault", fault, raw[fault])
        start = fault + 1
    if start < end:
        yield Stretch(kind, start, raw[start:end])


def sign(character: str) -> str | None:
    """What stands for a character that cannot be seen, that moves others or that UTF-8 cannot hold; else None."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
        return f"⟨U+{code:04X}⟩"
    return None


def shown(text: str) -> str:
    """`text` on one line, each character that has one as its sign."""
    return "".join(sign(character) or character for character in text)

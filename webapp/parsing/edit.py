"""Spans of a raw text, in code points, and edits: replacements by repairs, in order, applied, and mapped back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple


class Span(NamedTuple):
    """`raw[start:end]`."""

    start: int
    end: int

    def of(self, raw: str) -> str:
        return raw[self.start : self.end]


def place(raw: str, at: int) -> tuple[int, int]:
    """Line and column of the code point at offset `at`, both from 1, as `json.JSONDecodeError` counts them."""
    return raw.count("\n", 0, at) + 1, at - raw.rfind("\n", 0, at)


def stripped(raw: str, start: int = 0, end: int | None = None, characters: str | None = None) -> Span:
    """The span of `raw[start:end]` without `characters` (white space where None) at its ends, as `str.strip` cuts."""
    end = len(raw) if end is None else end
    text = raw[start:end]
    start_at = len(text) - len(text.lstrip(characters))
    return Span(start + start_at, start + max(start_at, len(text.rstrip(characters))))


class Edit(NamedTuple):
    """One replacement that a repair made; `old` is exactly `raw` at `span`, an insertion has an empty span."""

    repair: str
    span: Span
    old: str
    new: str

    def as_dict(self) -> dict[str, Any]:
        return {"repair": self.repair, "span": list(self.span), "old": self.old, "new": self.new}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Edit:
        return cls(data["repair"], Span(*data["span"]), data["old"], data["new"])


def apply(raw: str, span: Span, edits: Sequence[Edit]) -> str:
    """`raw[start:end]` after `edits`, which are in order, do not overlap and lie inside `span`.

    Raises `ValueError` where they are not: such edits would break the round trip that a trace promises.
    """
    if not edits:
        return raw[span.start : span.end]
    pieces: list[str] = []
    at = span.start
    for repair, (start, end), old, new in edits:
        if start < at or end < start or end > span.end or raw[start:end] != old:
            raise ValueError(f"{repair} at {start}–{end} does not fit the text")
        pieces += (raw[at:start], new)
        at = end
    pieces.append(raw[at : span.end])
    return "".join(pieces)


def to_raw(span: Span, edits: Sequence[Edit], at: int) -> int:
    """The offset in the raw text of offset `at` in the decoded text; inside an edit's new text, the edit's start."""
    shift = span.start
    for _, (start, end), _, new in edits:
        if at < start - shift:
            break
        if at < start - shift + len(new):
            return start
        shift += end - start - len(new)
    return min(at + shift, span.end)


class Patch(NamedTuple):
    """An edit in the making; patches are sorted by place and, at one place, stay in the order made."""

    start: int
    end: int
    new: str
    repair: str


def in_order(raw: str, patches: list[Patch]) -> list[Edit]:
    """The patches as edits, sorted by place; one that overlaps the one before it is left out."""
    patches.sort(key=_place)
    edits: list[Edit] = []
    at = 0
    for start, end, new, repair in patches:
        if start >= at:
            edits.append(as_edit((repair, as_span((start, end)), raw[start:end], new)))
            at = end
    return edits


def _place(patch: Patch) -> int:
    """Start, then end, as one number: pairs would be thousands of objects more for the garbage collector to look at."""
    return patch[0] << 40 | patch[1]


as_patch: Callable[[tuple[int, int, str, str]], Patch] = partial(tuple.__new__, Patch)
as_edit: Callable[[tuple[str, Span, str, str]], Edit] = partial(tuple.__new__, Edit)
as_span: Callable[[tuple[int, int]], Span] = partial(tuple.__new__, Span)
"""What `Patch(…)`, `Edit(…)` and `Span(…)` make, at a third of the cost; for where thousands are made of one text."""


class NotJson(Exception):
    """What is being read is no JSON; `at` is where that became plain and the message says why."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at


@dataclass(frozen=True, slots=True)
class Places:
    """Stretches of the decoded text: where each begins, the raw span it came from, and whether an edit made it."""

    starts: list[int]
    spans: list[Span]
    by_edit: list[bool]

    def raw(self, start: int, end: int) -> Span:
        """The raw span of the decoded `[start, end)`; an edit's new text counts as the whole text it replaced."""
        if start >= end:
            at = self._at(start)
            return Span(at, at)
        last = self._stretch(end - 1)
        stop = self.spans[last].end if self.by_edit[last] else self._at(end - 1) + 1
        return Span(self._at(start), max(self._at(start), stop))

    def _at(self, at: int) -> int:
        index = self._stretch(at)
        begin, end = self.spans[index]
        return begin if self.by_edit[index] else min(end, begin + at - self.starts[index])

    def _stretch(self, at: int) -> int:
        return max(0, bisect_right(self.starts, at) - 1)


def places(span: Span, edits: Sequence[Edit]) -> Places:
    """The mapping for `apply(raw, span, edits)`."""
    pieces, at = list[tuple[Span, int, bool]](), span.start
    for edit in edits:
        pieces += [(Span(at, edit.span.start), edit.span.start - at, False), (edit.span, len(edit.new), True)]
        at = edit.span.end
    pieces.append((Span(at, max(at, span.end)), span.end - at, False))
    kept = [piece for piece in pieces if piece[1] > 0] or [(Span(at, at), 0, False)]
    starts = [0, *accumulate(size for _, size, _ in kept[:-1])]
    return Places(starts, [stretch for stretch, _, _ in kept], [by_edit for _, _, by_edit in kept])

"""Spans of a raw text, in code points, and edits: replacements by repairs, in order, applied, and mapped back."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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


def within(span: Span, edits: Sequence[Edit]) -> Sequence[Edit]:
    """Those of the edits that begin inside `span`, behind its first character."""
    first, last = (bisect_left(edits, at, key=lambda edit: edit.span.start) for at in (span.start + 1, span.end))
    return edits[first:last]


def composed(raw: str, span: Span, first: Sequence[Edit], second: Sequence[Edit]) -> list[Edit]:
    """The edits of `raw[start:end]` that come to `first` and, in the text after those, `second`.

    One of `second` takes the place of those of `first` whose new text it replaces; it is inserted before a removal.
    """
    if not second:
        return list(first)
    edits, begins, shift = list(first), list[int](), span.start
    for edit in first:
        begins.append(edit.span.start - shift)
        shift += edit.span.end - edit.span.start - len(edit.new)
    for repair, (start, end), _, new in reversed(second):
        low = high = bisect_left(begins, end)
        while low and begins[low - 1] + len(edits[low - 1].new) > start:
            low -= 1
        first_at, last_at = (_raw(span, edits, begins, index) for index in (low, high))
        place, begin = Span(start + first_at, end + last_at), start
        if low < high and (begin := min(start, begins[low])) < start:
            place, new = Span(edits[low].span.start, place.end), edits[low].new[: start - begin] + new
        if low < high and (rest := edits[high - 1].new[end - begins[high - 1] :]):
            place, new = Span(place.start, edits[high - 1].span.end), new + rest
        edits[low:high] = [Edit(repair, place, place.of(raw), new)]
        begins[low:high] = [begin]
    return edits


def _raw(span: Span, edits: Sequence[Edit], begins: Sequence[int], index: int) -> int:
    """How much further the unchanged text before the edit at `index` stands in the raw text than in the decoded one."""
    if not index:
        return span.start
    before = edits[index - 1]
    return before.span.end - begins[index - 1] - len(before.new)


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
            at = self.at(start)
            return Span(at, at)
        last = self._stretch(end - 1)
        stop = self.spans[last].end if self.by_edit[last] else self.at(end - 1) + 1
        return Span(self.at(start), max(self.at(start), stop))

    def at(self, at: int) -> int:
        """The raw offset of a decoded one; inside an edit's new text, where that edit begins."""
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
    kept = [*(piece for piece in pieces if piece[1] > 0), (Span(span.end, span.end), 0, False)]
    starts = [0, *accumulate(size for _, size, _ in kept[:-1])]
    return Places(starts, [stretch for stretch, _, _ in kept], [by_edit for _, _, by_edit in kept])

"""Spans of a raw text, in code points, and edits: replacements by repairs, in order, applied, and mapped back."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
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


def trimmed(raw: str, end: int, characters: str = " \t\r\n", start: int = 0) -> int:
    """Where `raw[start:end]` ends without `characters` at its end."""
    while end > start and raw[end - 1] in characters:
        end -= 1
    return end


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


@dataclass(frozen=True, slots=True)
class Places:
    """Where the characters of an edited text stand in the raw one; `begins` has where each edit's new text begins."""

    span: Span
    edits: list[Edit]
    begins: list[int]

    def at(self, at: int) -> int:
        """The raw offset of a decoded one; inside an edit's new text, where that edit begins."""
        if over := self._over(at):
            return over.span.start
        return min(self.span.end, at + self.shift(bisect_right(self.begins, at)))

    def raw(self, start: int, end: int) -> Span:
        """The raw span of the decoded `[start, end)`; an edit's new text counts as the whole text it replaced."""
        at = self.at(start)
        if start >= end:
            return Span(at, at)
        over = self._over(end - 1)
        return Span(at, max(at, over.span.end if over else self.at(end - 1) + 1))

    def shift(self, index: int) -> int:
        """How much further the unchanged text before the edit at `index` stands in the raw text than in the other."""
        if not index:
            return self.span.start
        before = self.edits[index - 1]
        return before.span.end - self.begins[index - 1] - len(before.new)

    def _over(self, at: int) -> Edit | None:
        """The edit in whose new text `at` is."""
        index = bisect_right(self.begins, at) - 1
        is_inside = index >= 0 and at < self.begins[index] + len(self.edits[index].new)
        return self.edits[index] if is_inside else None


def places(span: Span, edits: Iterable[Edit]) -> Places:
    """The mapping for `apply(raw, span, edits)`."""
    mapped = Places(span, list(edits), [])
    shift = span.start
    for _, (start, end), _, new in mapped.edits:
        mapped.begins.append(start - shift)
        shift += end - start - len(new)
    return mapped


def composed(raw: str, span: Span, first: Sequence[Edit], second: Sequence[Edit]) -> list[Edit]:
    """The edits of `raw[start:end]` that come to `first` and, in the text after those, `second`.

    One of `second` takes the place of those of `first` whose new text it replaces; it is inserted before a removal.
    """
    if not second:
        return list(first)
    mapped, behind = places(span, first), list[Edit]()
    edits, begins = mapped.edits, mapped.begins
    for repair, (start, end), _, new in reversed(second):
        while begins and begins[-1] >= end:
            behind.append(edits.pop())
            begins.pop()
        low = high = len(edits)
        while low and begins[low - 1] + len(edits[low - 1].new) > start:
            low -= 1
        place, begin = Span(start + mapped.shift(low), end + mapped.shift(high)), start
        if low < high and (begin := min(start, begins[low])) < start:
            place, new = Span(edits[low].span.start, place.end), edits[low].new[: start - begin] + new
        if low < high and (rest := edits[high - 1].new[end - begins[high - 1] :]):
            place, new = Span(place.start, edits[high - 1].span.end), new + rest
        edits[low:] = [Edit(repair, place, place.of(raw), new)]
        begins[low:] = [begin]
    return [*edits, *reversed(behind)]


def in_order(made: list[Edit]) -> list[Edit]:
    """Edits by place, those at one place in the order made; one that overlaps the one before it is left out."""
    made.sort(key=_span)
    edits: list[Edit] = []
    at = 0
    for edit in made:
        start, end = edit[1]
        if start >= at:
            edits.append(edit)
            at = end
    return edits


_span = itemgetter(1)
as_edit: Callable[[tuple[str, Span, str, str]], Edit] = partial(tuple.__new__, Edit)
as_span: Callable[[tuple[int, int]], Span] = partial(tuple.__new__, Span)
"""What `Edit(…)` and `Span(…)` make, at a third of the cost; for where thousands are made of one text."""


def edit_at(raw: str, repair: str, start: int, end: int, new: str = "") -> Edit:
    """The edit that puts `new` in the place of `raw[start:end]`."""
    return as_edit((repair, as_span((start, end)), raw[start:end], new))


class NotJson(Exception):
    """What is being read is no JSON; `at` is where that became plain and the message says why."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at

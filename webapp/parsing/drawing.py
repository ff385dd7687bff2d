"""A raw text cut into stretches that look the same throughout: the one painter behind pages, terminal and exports.
And where each key and value of a JSON text stands, for a page that shows it: linear and never recursive.

Those only style what comes out of here. The stretches that are no insertions are the raw text, each character once.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from webapp.parsing.edit import Edit, Span
from webapp.parsing.patterns import later
from webapp.parsing.trace import Attempt, Trace

Kind = Literal["text", "removed", "inserted"]


class Stretch(NamedTuple):
    """`raw[start:end]`, or (with an empty span) what an edit inserts there, or the place of an error at the very end.

    `attempt` is the one in whose span it lies, `edit` counts the edits of all drawn attempts from 1 and
    `repair` made it, and `fault` says that the attempt stopped at this character.
    """

    kind: Kind
    start: int
    end: int
    text: str
    attempt: Attempt | None = None
    edit: int | None = None
    repair: str | None = None
    fault: bool = False

    @property
    def feed(self) -> bool:
        """Whether it is a line's end of which there is nothing to say."""
        return self.text == "\n" and self.kind == "text" and not self.fault


class DrawnLine(NamedTuple):
    """A line of the raw text, numbered from 1: `span` is without its line feed, `ends` says whether it has one."""

    number: int
    span: Span
    ends: bool
    stretches: list[Stretch]


def telling(trace: Trace) -> list[Attempt]:
    """The attempts that tell most, in order and without overlaps: the chosen ones, else the last that failed."""
    if trace.chosen:
        return _apart(trace.attempts[index] for index in trace.chosen)
    failed = [attempt for attempt in trace.attempts if attempt.outcome == "failed"]
    return failed[-1:] if trace.verdict == "failed" else []


def _apart(attempts: Iterable[Attempt]) -> list[Attempt]:
    apart: list[Attempt] = []
    for attempt in sorted(attempts, key=lambda attempt: attempt.span):
        if not apart or attempt.span.start >= apart[-1].span.end:
            apart.append(attempt)
    return apart


class Drawing:
    """Knows how any stretch of `raw` looks when `attempts`, whose spans do not overlap, are drawn in full.

    An edit's new text comes after the text that it replaces. Stretches end at `cuts` too.
    """

    def __init__(self, raw: str, attempts: Sequence[Attempt], cuts: Iterable[int] = ()) -> None:
        self.raw = raw
        self.attempts = attempts
        self.edits: list[Edit] = [edit for attempt in attempts for edit in attempt.edits]
        self.faults = {attempt.error.at for attempt in attempts if attempt.error}
        self._owners = [attempt for attempt in attempts for _ in attempt.edits]
        self._edit_starts = [edit.span.start for edit in self.edits]
        self._attempt_starts = [attempt.span.start for attempt in attempts]
        places = {place for attempt in attempts for place in attempt.span}
        places.update(place for edit in self.edits for place in edit.span)
        places.update(place for fault in self.faults for place in (fault, fault + 1))
        self._bounds = sorted(places.union(cuts))

    def stretches(self, window: Span | None = None) -> Iterator[Stretch]:
        """The stretches of the raw text, or of a window of it, in order."""
        start, end = window or Span(0, len(self.raw))
        yield from self._between(start, end)
        if end == len(self.raw):
            yield from self._at_the_end()

    def lines(self, window: Span, number: int) -> Iterator[DrawnLine]:
        """The lines of a window of which the first has the number `number`; their line feeds are stretches too."""
        start = window.start
        while True:
            feed = self.raw.find("\n", start, window.end)
            yield self.line(Span(start, window.end if feed < 0 else feed), number, ends=feed >= 0)
            if feed < 0:
                return
            start, number = feed + 1, number + 1
            if start == window.end < len(self.raw):
                return

    def line(self, span: Span, number: int, *, ends: bool) -> DrawnLine:
        stretches = list(self._between(*span))
        if ends:
            stretches += self._between(span.end, span.end + 1)
        elif span.end == len(self.raw):
            stretches += self._at_the_end()
        return DrawnLine(number, span, ends, stretches)

    def marked_lines(self, context: int, most: int) -> Iterator[DrawnLine]:
        """The lines within `context` lines of a mark, at most `most`; without a mark those at the beginning."""
        starts = [0, *(match.end() for match in re.finditer("\n", self.raw))]
        marks = {bisect_right(starts, min(place, len(self.raw))) - 1 for place in self._bounds} or {0}
        near = {line for mark in marks for line in range(mark - context, mark + context + 1)}
        for index in sorted(line for line in near if 0 <= line < len(starts))[:most]:
            ends = index + 1 < len(starts)
            end = starts[index + 1] - 1 if ends else len(self.raw)
            yield self.line(Span(starts[index], end), index + 1, ends=ends)

    def _between(self, start: int, end: int) -> Iterator[Stretch]:
        low, high = bisect_right(self._bounds, start), bisect_left(self._bounds, end)
        for begin, stop in pairwise([start, *self._bounds[low:high], end]):
            if begin < stop:
                yield from self._stretch(begin, stop)

    def _stretch(self, start: int, end: int) -> Iterator[Stretch]:
        yield from self._insertions(start)
        number = self._edit_over(start)
        fault = start in self.faults
        text = self.raw[start:end]
        if number is None:
            yield Stretch("text", start, end, text, self._attempt_over(start), fault=fault)
            return
        edit = self.edits[number - 1]
        yield Stretch("removed", start, end, text, self._owners[number - 1], number, edit.repair, fault)
        if edit.span.end == end:
            yield from self._inserted(number)

    def _at_the_end(self) -> Iterator[Stretch]:
        end = len(self.raw)
        yield from self._insertions(end)
        if end in self.faults:
            yield Stretch("text", end, end, "", fault=True)

    def _insertions(self, at: int) -> Iterator[Stretch]:
        """What is inserted before the character at `at` without replacing anything."""
        index = bisect_left(self._edit_starts, at)
        while index < len(self.edits) and self._edit_starts[index] == at:
            if self.edits[index].span.end == at:
                yield from self._inserted(index + 1)
            index += 1

    def _inserted(self, number: int) -> Iterator[Stretch]:
        edit = self.edits[number - 1]
        if edit.new:
            at = edit.span.end
            yield Stretch("inserted", at, at, edit.new, self._owners[number - 1], number, edit.repair)

    def _edit_over(self, at: int) -> int | None:
        """The number of the edit that replaces the character at `at`."""
        index = bisect_right(self._edit_starts, at) - 1
        while index >= 0 and self.edits[index].span.start == self.edits[index].span.end == at:
            index -= 1
        return index + 1 if index >= 0 and at < self.edits[index].span.end else None

    def _attempt_over(self, at: int) -> Attempt | None:
        index = bisect_right(self._attempt_starts, at) - 1
        return self.attempts[index] if index >= 0 and at < self.attempts[index].span.end else None


NodeKind = Literal["object", "array", "string", "number", "word"]

_token = later(
    r'[ \t\n\r]*+(?:("(?:[^"\\]++|\\[\s\S])*+")|([{\[])|([}\]])|([,:])'
    r"|(-?[0-9][0-9.eE+-]*+)|(true|false|null|NaN|-?Infinity))"
)
_STRING, _OPEN, _CLOSE, _MARK, _NUMBER = range(1, 6)


@dataclass(slots=True)
class Node:
    """One value of the text; `key` spans its key with the quotes, `place` counts its elder siblings.

    `end` and `size` (the number of children) are None for a container whose end was not reached.
    """

    depth: int
    kind: NodeKind
    start: int
    end: int | None
    key: Span | None = None
    place: int = 0
    size: int | None = None
    is_item: bool = False


def nodes(text: str, limit: int) -> tuple[list[Node], bool]:
    """The first `limit` values of a text that decodes, in its order, and whether there are more.

    Of a text that does not decode, what stands before the first character that is no JSON.
    """
    found, opened, counts = list[Node](), list[Node](), [0]
    key, key_next, at = None, False, 0
    while match := _token.match(text, at):
        at, group = match.end(), match.lastindex or 0
        start = match.start(group)
        if group == _STRING and key_next:
            key, key_next = Span(start, at), False
        elif group == _MARK:
            key_next = match[group] == "," and bool(opened) and opened[-1].kind == "object"
        elif group == _CLOSE:
            key_next = False
            if opened:
                node = opened.pop()
                node.end, node.size = at, counts.pop()
        elif len(found) == limit:
            return found, True
        else:
            is_item = bool(opened) and opened[-1].kind == "array"
            found.append(Node(len(opened), _kind(text[start], group), start, at, key, counts[-1], is_item=is_item))
            counts[-1] += 1
            key = None
            if group == _OPEN:
                found[-1].end, key_next = None, text[start] == "{"
                opened.append(found[-1])
                counts.append(0)
    return found, False


def _kind(first: str, group: int) -> NodeKind:
    if group == _OPEN:
        return "object" if first == "{" else "array"
    return "string" if group == _STRING else "number" if group == _NUMBER else "word"

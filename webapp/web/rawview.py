"""The raw pane: a text as lines of pieces, with one attempt drawn in full and the others as quiet marks."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from webapp.parsing import Attempt
from webapp.parsing.edit import Edit
from webapp.parsing.span import Span
from webapp.web import gutter, windows
from webapp.web.glyphs import Run, runs

END = Run("", "END", "end of the response")
LINE_FEED = Run("", "LF", "U+000A LINE FEED")
DRAWN_EDITS = 300
"""Edits drawn, those nearest to the current one; all are counted."""
DRAWN_OTHERS = 200
LONG = 300
"""Code points of a line from which on its error is named beside the character and not under the line."""
_BLANK = re.compile(r"\t+|[^\t]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one line that looks the same throughout: `tag` is text, del or ins; `marks` are CSS classes.

    `edit` counts the attempt's edits from 1; `title` says what the piece is: a repair, or why it was discarded.
    """

    tag: str
    runs: tuple[Run, ...]
    marks: str = ""
    title: str | None = None
    edit: int | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """What is not shown between two windows: the span, the number of the line it begins in, its line feeds."""

    span: Span
    first: int
    lines: int

    @property
    def by_lines(self) -> bool:
        """Whether lines are the measure by which to ask for more; in long lines characters are."""
        return self.lines > 1 and (self.span.end - self.span.start) // self.lines < windows.ASKED // windows.ASKED_LINES

    @property
    def pages(self) -> list[tuple[int, int]]:
        """The next and the last stretch of the gap that one request can ask for, in lines or in offsets."""
        start, end = (self.first, self.first + self.lines) if self.by_lines else self.span
        step = windows.ASKED_LINES - 1 if self.by_lines else windows.ASKED
        if end - start <= step:
            return [(start, end)]
        return [(start, start + step), (end - step, end)]


@dataclass(slots=True)
class Line:
    """One line or, in a long one, the stretch of it that is shown; or a gap.

    `at` is the offset of its first character. `ends` says whether its line feed belongs to it, `begins` whether it
    starts where the line does. `lanes` are CSS classes of the gutter.
    """

    number: int
    at: int = 0
    pieces: list[Piece] = field(default_factory=list)
    begins: bool = True
    ends: bool = True
    lanes: str = ""
    brackets: list[gutter.Bracket] = field(default_factory=list)
    notes: list[gutter.Note] = field(default_factory=list)
    gap: Gap | None = None
    fault: bool = False
    long: bool = False


@dataclass(frozen=True, slots=True)
class RawView:
    """`shown` code points of `length`; `edits_left` edits of the attempt are not drawn."""

    lines: list[Line]
    line_count: int
    length: int
    shown: int
    edits_left: int = 0


@dataclass(frozen=True, slots=True)
class Focus:
    """What a page looks at: an attempt, its state after `edit` edits, a marked range, and what it asks to see."""

    attempt: int | None = None
    edit: int | None = None
    range: Span | None = None
    asked: tuple[Span, ...] = ()


def view(raw: str, attempts: Sequence[Attempt], focus: Focus) -> RawView:
    """Lay `raw` out with the attempt of `focus` drawn in full; of a long text only windows."""
    painter = _Painter(raw, attempts, focus)
    lines: list[Line] = []
    at, number = 0, 1
    shown = windows.windows(raw, painter.places(), focus.asked)
    for window in shown:
        if window.start > at:
            lines.append(_gap(raw, Span(at, window.start), number))
            number += raw.count("\n", at, window.start)
        lines += painter.lines(window, number)
        number += raw.count("\n", window.start, window.end)
        at = window.end
    if at < len(raw):
        lines.append(_gap(raw, Span(at, len(raw)), number))
        number += raw.count("\n", at)
    return RawView(lines, number, len(raw), sum(end - start for start, end in shown), painter.edits_left)


def _gap(raw: str, span: Span, number: int) -> Line:
    return Line(0, span.start, gap=Gap(span, number, raw.count("\n", *span)))


class _Painter:
    """Knows, for any stretch of the raw text, how it looks."""

    def __init__(self, raw: str, attempts: Sequence[Attempt], focus: Focus) -> None:
        self.raw = raw
        self.focus = focus
        self.current = None if focus.attempt is None else attempts[focus.attempt]
        every = self.current.edits if self.current else ()
        done = len(every) if focus.edit is None else focus.edit
        self.first = max(0, min(done - DRAWN_EDITS // 2, len(every) - DRAWN_EDITS))
        self.edits: tuple[Edit, ...] = every[self.first : self.first + DRAWN_EDITS]
        self.edits_left = len(every) - len(self.edits)
        self.edit_starts = [edit.span.start for edit in self.edits]
        self.fault = self.current.error.at if self.current and self.current.error else None
        others = [(i, a) for i, a in enumerate(attempts[:DRAWN_OTHERS]) if i != focus.attempt]
        self.discarded = sorted((a.span, a.reason) for _, a in others if a.outcome == "rejected" and a.reason)
        self.discarded_starts = [span.start for span, _ in self.discarded]
        self.gutter = gutter.gutter(raw, attempts[:DRAWN_OTHERS], focus.attempt)
        seen = [a.span for _, a in others if a.outcome != "rejected" and a.span.end - a.span.start < len(raw)]
        self.cuts, self.depths = _depths(seen)
        self.bounds = sorted({*self.cuts, *self._own_bounds()})

    def _own_bounds(self) -> Iterator[int]:
        yield from self.current.span if self.current else ()
        yield from self.focus.range or ()
        yield from (self.fault, self.fault + 1) if self.fault is not None else ()
        yield from (place for span, _ in self.discarded for place in span)
        yield from (place for edit in self.edits for place in edit.span)

    def places(self) -> list[int]:
        """Where a window is wanted: the marked range, the error, the span's ends, the first edits and the current."""
        places = [*(self.focus.range or ()), *(self.current.span if self.current else ())]
        near = max(0, (self.focus.edit or 1) - 1 - self.first)
        places += [edit.span.start for edit in (*self.edits[:8], *self.edits[near : near + 1])]
        return places + ([] if self.fault is None else [self.fault])

    def lines(self, window: Span, number: int) -> list[Line]:
        """The lines of a window of which the first is the line `number`."""
        done: list[Line] = []
        at = window.start
        while True:
            found = self.raw.find("\n", at, window.end)
            end = window.end if found < 0 else found
            if found < 0 and at == window.end and done and window.end < len(self.raw):
                return done
            done.append(self._line(Span(at, end), number + len(done), ends=found >= 0))
            if found < 0:
                return done
            at = found + 1

    def _line(self, span: Span, number: int, *, ends: bool) -> Line:
        begins = span.start == 0 or self.raw[span.start - 1] == "\n"
        line = Line(number, span.start, begins=begins, ends=ends, long=span.end - span.start > LONG)
        text = self.raw[span.start : span.end]
        full = ends or span.end == len(self.raw)
        blank = span.start + len(text.rstrip(" \t")) if full else span.end
        for tag, start, end, edit in self._stretches(span, ends=ends):
            shown = self._runs(tag, start, end, edit, blank)
            if shown:
                title, marks = self._look(tag, start, end, edit)
                line.pieces.append(Piece(tag, shown, marks, title, edit))
                line.fault = line.fault or " at" in marks
        line.lanes = self.gutter.lanes(span)
        line.brackets = self.gutter.brackets_from(span)
        line.notes = self.gutter.notes(Span(span.start, span.end + (1 if full else 0)))
        return line

    def _runs(self, tag: str, start: int, end: int, edit: int | None, blank: int) -> tuple[Run, ...]:
        if tag == "ins" and edit:
            return tuple(runs(self.edits[edit - 1 - self.first].new.replace("\n", "↵")))
        text = self.raw[start:end]
        if text == "\n":
            return (LINE_FEED,)
        if start == end:
            return (END,)
        head = max(0, min(len(text), blank - start))
        return (*_tabbed(text[:head], ""), *_tabbed(text[head:], "trail"))

    def _stretches(self, line: Span, *, ends: bool) -> Iterator[tuple[str, int, int, int | None]]:
        """(tag, start, end, edit) in order; an edit's new text comes after the text that it replaces."""
        low, high = bisect_right(self.bounds, line.start), bisect_left(self.bounds, line.end)
        for start, end in pairwise([line.start, *self.bounds[low:high], line.end]):
            if start < end:
                yield from self._stretch(start, end)
        feed = ends and (self._edit_over(line.end) is not None or self.fault == line.end)
        if feed:
            yield from self._stretch(line.end, line.end + 1)
        elif ends or line.end == len(self.raw):
            yield from self._inserted(line.end)
        if self.fault == line.end == len(self.raw):
            yield "text", line.end, line.end, None

    def _stretch(self, start: int, end: int) -> Iterator[tuple[str, int, int, int | None]]:
        yield from self._inserted(start)
        number = self._edit_over(start)
        yield ("del" if number else "text"), start, end, number
        if number and self.edits[number - 1 - self.first].span.end == end:
            yield from self._replacing(number, end)

    def _replacing(self, number: int, end: int) -> Iterator[tuple[str, int, int, int | None]]:
        if self.edits[number - 1 - self.first].new:
            yield "ins", end, end, number

    def _inserted(self, at: int) -> Iterator[tuple[str, int, int, int | None]]:
        index = bisect_left(self.edit_starts, at)
        while index < len(self.edits) and self.edit_starts[index] == at:
            if self.edits[index].new and self.edits[index].span.end == at:
                yield "ins", at, at, index + 1 + self.first
            index += 1

    def _edit_over(self, at: int) -> int | None:
        """The number of the edit that replaces the character at `at`."""
        index = bisect_right(self.edit_starts, at) - 1
        while index >= 0 and self.edits[index].span.start == self.edits[index].span.end == at:
            index -= 1
        if index >= 0 and self.edits[index].span.start <= at < self.edits[index].span.end:
            return index + 1 + self.first
        return None

    def _look(self, tag: str, start: int, end: int, edit: int | None) -> tuple[str | None, str]:
        """What a stretch is, in words, and its CSS classes."""
        marks, title = [], None
        span = self.current.span if self.current else None
        if span and span.start <= start and end <= span.end and (start < span.end or tag == "ins"):
            marks.append("hit" if span.end - span.start < len(self.raw) else "hit whole")
        elif tag == "text" and (title := self._reason(start)):
            marks.append("dropped")
        elif tag == "text" and self._seen(start):
            marks.append("seen")
        if edit is not None:
            title = self.edits[edit - 1 - self.first].repair
            marks += ["pend"] if edit > self._done() else ["now"] if edit == self.focus.edit else []
        if tag != "ins" and start == self.fault:
            marks.append("at")
        if self.focus.range and tag != "ins" and self.focus.range.start <= start < self.focus.range.end:
            marks.append("range")
        return title, " " + " ".join(marks) if marks else ""

    def _done(self) -> int:
        return 1 << 62 if self.focus.edit is None else self.focus.edit

    def _reason(self, at: int) -> str | None:
        """Why the innermost discarded candidate around `at` was discarded."""
        index = bisect_right(self.discarded_starts, at)
        for span, reason in reversed(self.discarded[max(0, index - 20) : index]):
            if at < span.end:
                return reason
        return None

    def _seen(self, at: int) -> bool:
        index = bisect_right(self.cuts, at) - 1
        return index >= 0 and self.depths[index] > 0


def _tabbed(text: str, mark: str) -> Iterator[Run]:
    """Runs of `text` with its tabs apart; `mark` is the class of what is no tab."""
    for match in _BLANK.finditer(text):
        if match[0][0] == "\t":
            yield Run(match[0], mark="tab")
        elif mark:
            yield Run(match[0], mark=mark)
        else:
            yield from runs(match[0])


def _depths(spans: Sequence[Span]) -> tuple[list[int], list[int]]:
    """Where the number of spans that cover a place changes, and how many cover it from there on."""
    changes: dict[int, int] = {}
    for start, end in spans:
        if start < end:
            changes[start] = changes.get(start, 0) + 1
            changes[end] = changes.get(end, 0) - 1
    cuts = sorted(changes)
    return cuts, list(accumulate(changes[cut] for cut in cuts))

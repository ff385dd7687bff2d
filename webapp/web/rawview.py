"""The raw pane: a text as lines of pieces, with one attempt drawn in full and the others as quiet marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from webapp.parsing import Attempt
from webapp.parsing.drawing import Drawing, DrawnLine, Stretch
from webapp.parsing.edit import Span
from webapp.visible import LINE_FEED, TextRun, runs
from webapp.web import gutter, windows

END = TextRun("", "END", "end of the response")
DRAWN_EDITS = 300
"""Edits drawn, those nearest to the current one, else the first; all are counted."""
DRAWN_OTHERS = 200
LONG = 300
"""Code points of a line from which on its error is named beside the character and not under the line."""
_TAGS = {"text": "text", "removed": "del", "inserted": "ins"}
_BLANK = re.compile(r"\t+|[^\t]+")


@dataclass(frozen=True, slots=True)
class DrawnText:
    """Text that looks the same throughout: `tag` is text, del, ins or gap; `marks` are CSS classes.

    `edit` counts the attempt's edits from 1; `title` says what the text is: a repair, or why it was discarded. A gap
    leaves `hidden` characters out.
    """

    tag: str
    runs: tuple[TextRun, ...] = ()
    marks: str = ""
    title: str | None = None
    edit: int | None = None
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class RawGap:
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
class RawLine:
    """One line or, in a long one, the stretch of it that is shown; or a gap.

    `at` is the offset of its first character. `ends` says whether its line feed belongs to it, `begins` whether it
    starts where the line does. `lanes` are CSS classes of the gutter.
    """

    number: int
    at: int = 0
    pieces: list[DrawnText] = field(default_factory=list)
    begins: bool = True
    ends: bool = True
    lanes: str = ""
    brackets: list[gutter.Bracket] = field(default_factory=list)
    notes: list[gutter.StopNote] = field(default_factory=list)
    gap: RawGap | None = None
    fault: bool = False
    long: bool = False


@dataclass(frozen=True, slots=True)
class RawView:
    """`drawn_length` code points of `length`; `edits_left` edits of the attempt are not drawn."""

    lines: list[RawLine]
    line_count: int
    length: int
    drawn_length: int
    edits_left: int = 0


@dataclass(frozen=True, slots=True)
class Focus:
    """What a page looks at: an attempt, its state after `edit` edits, a marked range, and what it asks to see."""

    attempt: int | None = None
    edit: int | None = None
    range: Span | None = None
    windows: tuple[Span, ...] = ()


def view(raw: str, attempts: Sequence[Attempt], focus: Focus) -> RawView:
    """Lay `raw` out with the attempt of `focus` drawn in full; of a long text only windows."""
    painter = _Painter(raw, attempts, focus)
    spans = windows.windows(raw, painter.places(), focus.windows)
    lines: list[RawLine] = []
    at, number = 0, 1
    for window in spans:
        if window.start > at:
            lines.append(_gap(raw, Span(at, window.start), number))
            number += raw.count("\n", at, window.start)
        lines += painter.lines(window, number)
        number += raw.count("\n", window.start, window.end)
        at = window.end
    if at < len(raw):
        lines.append(_gap(raw, Span(at, len(raw)), number))
        number += raw.count("\n", at)
    return RawView(lines, number, len(raw), sum(end - start for start, end in spans), painter.edits_left)


def _gap(raw: str, span: Span, number: int) -> RawLine:
    return RawLine(0, span.start, gap=RawGap(span, number, raw.count("\n", *span)))


class _Painter:
    """Gives the stretches of any window the look that they have in the raw pane."""

    def __init__(self, raw: str, attempts: Sequence[Attempt], focus: Focus) -> None:
        self.raw = raw
        self.focus = focus
        current = None if focus.attempt is None else attempts[focus.attempt]
        edits = current.edits if current else ()
        self.first = max(0, min((focus.edit or 1) - DRAWN_EDITS // 2, len(edits) - DRAWN_EDITS))
        self.current = current and replace(current, edits=edits[self.first : self.first + DRAWN_EDITS])
        self.edits_left = max(0, len(edits) - DRAWN_EDITS)
        near = attempts[:DRAWN_OTHERS]
        self.gutter = gutter.gutter(raw, near, focus.attempt)
        self.others = _Others(raw, [attempt for index, attempt in enumerate(near) if index != focus.attempt])
        cuts = {*self.others.bounds, *(focus.range or ())}
        self.drawing = Drawing(raw, [self.current] if self.current else [], cuts)

    def places(self) -> list[int]:
        """Where a window is wanted: the marked range, the error, the span's ends, the first edits and the current."""
        places = [*(self.focus.range or ()), *(self.current.span if self.current else ())]
        near = max(0, (self.focus.edit or 1) - 1 - self.first)
        edits = self.drawing.edits
        places += [edit.span.start for edit in (*edits[:8], *edits[near : near + 1])]
        return [*places, *self.drawing.faults]

    def lines(self, window: Span, number: int) -> Iterator[RawLine]:
        """The lines of a window of which the first is the line `number`."""
        return map(self._line, self.drawing.lines(window, number))

    def _line(self, line: DrawnLine) -> RawLine:
        start, end = line.span
        complete = line.ends or end == len(self.raw)
        blank = start + len(self.raw[start:end].rstrip(" \t")) if complete else end
        pieces = [self._piece(stretch, blank) for stretch in line.stretches if not stretch.feed]
        return RawLine(
            line.number,
            start,
            pieces,
            begins=start == 0 or self.raw[start - 1] == "\n",
            ends=line.ends,
            lanes=self.gutter.lanes(line.span),
            brackets=self.gutter.brackets_from(line.span),
            notes=self.gutter.notes(Span(start, end + 1 if complete else end)),
            fault=any(stretch.fault for stretch in line.stretches),
            long=end - start > LONG,
        )

    def _piece(self, stretch: Stretch, blank: int) -> DrawnText:
        edit = None if stretch.edit is None else stretch.edit + self.first
        reason = None
        if stretch.attempt is None and stretch.kind == "text":
            reason = self.others.reason(stretch.start)
        marks = "".join(f" {mark}" for mark in self._marks(stretch, edit, reason))
        return DrawnText(_TAGS[stretch.kind], _runs(stretch, blank), marks, stretch.repair or reason, edit)

    def _marks(self, stretch: Stretch, edit: int | None, reason: str | None) -> Iterator[str]:
        """The CSS classes of a stretch."""
        if stretch.attempt:
            start, end = stretch.attempt.span
            yield "hit" if end - start < len(self.raw) else "hit whole"
        elif stretch.kind == "text" and (reason or self.others.covers(stretch.start)):
            yield "dropped" if reason else "seen"
        if edit is not None and self.focus.edit is not None and edit >= self.focus.edit:
            yield "now" if edit == self.focus.edit else "pend"
        if stretch.fault:
            yield "at"
        span = self.focus.range
        if span and stretch.kind != "inserted" and span.start <= stretch.start < span.end:
            yield "range"


class _Others:
    """The attempts that are not looked at: which places they cover, and why a discarded one was discarded."""

    def __init__(self, raw: str, attempts: Sequence[Attempt]) -> None:
        discarded = ((a.span, a.reason) for a in attempts if a.outcome == "rejected" and a.reason)
        self.discarded = sorted(discarded, reverse=True)
        self.spans = [a.span for a in attempts if a.outcome != "rejected" and 0 < a.span.end - a.span.start < len(raw)]
        self.bounds = {place for span in (*self.spans, *(span for span, _ in self.discarded)) for place in span}

    def reason(self, at: int) -> str | None:
        """Why the innermost discarded candidate around `at` was discarded."""
        return next((reason for span, reason in self.discarded if span.start <= at < span.end), None)

    def covers(self, at: int) -> bool:
        return any(span.start <= at < span.end for span in self.spans)


def _runs(stretch: Stretch, blank: int) -> tuple[TextRun, ...]:
    """What is written for a stretch; `blank` is where the white space at the end of its line begins."""
    if stretch.kind == "inserted":
        return tuple(runs(stretch.text.replace("\n", "↵")))
    if stretch.text in ("", "\n"):
        return (LINE_FEED if stretch.text else END,)
    head = max(0, min(len(stretch.text), blank - stretch.start))
    return (*_tabbed(stretch.text[:head], ""), *_tabbed(stretch.text[head:], "trail"))


def _tabbed(text: str, mark: str) -> Iterator[TextRun]:
    """Runs of `text` with its tabs apart; `mark` is the class of what is no tab."""
    for match in _BLANK.finditer(text):
        if match[0][0] == "\t":
            yield TextRun(match[0], mark="tab")
        elif mark:
            yield TextRun(match[0], mark=mark)
        else:
            yield from runs(match[0])

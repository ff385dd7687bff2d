"""The raw pane: a response as lines of pieces, with one attempt drawn in full and the others as quiet marks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from webapp.parsing import Attempt
from webapp.parsing.edit import Edit
from webapp.parsing.span import Span
from webapp.web.glyphs import Run, runs

END = Run("", "END", "end of the response")
LINE_FEED = Run("", "LF", "U+000A LINE FEED")
WHOLE_LIMIT = 60_000
"""Code points up to which a response is shown whole; a longer one is shown in windows."""
MARGIN = 2_000
WINDOWED_EDITS = 20


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one line that looks the same throughout: `tag` is text, del or ins; `marks` are CSS classes."""

    tag: str
    runs: tuple[Run, ...]
    marks: str = ""
    title: str | None = None


@dataclass(slots=True)
class Line:
    """One line of the raw text, or a gap of `hidden` code points; `fault` says what stopped the attempt on it."""

    number: int
    pieces: list[Piece] = field(default_factory=list)
    gutter: str = ""
    hidden: int = 0
    fault: bool = False


@dataclass(frozen=True, slots=True)
class RawView:
    lines: list[Line]
    line_count: int
    length: int
    shown: int


def view(raw: str, attempts: Sequence[Attempt], current: Attempt | None) -> RawView:
    """Lay `raw` out with `current` drawn in full. At most about `WHOLE_LIMIT` code points are in the result."""
    painter = _Painter(raw, attempts, current)
    lines: list[Line] = []
    windows = list(_windows(raw, current))
    at = 0
    for window in windows:
        if window.start > at:
            lines.append(Line(0, hidden=window.start - at))
        lines.extend(painter.lines(window))
        at = window.end
    if at < len(raw):
        lines.append(Line(0, hidden=len(raw) - at))
    shown = sum(window.end - window.start for window in windows)
    return RawView(lines, raw.count("\n") + 1, len(raw), shown)


def _windows(raw: str, current: Attempt | None) -> Iterator[Span]:
    if len(raw) <= WHOLE_LIMIT:
        yield Span(0, len(raw))
        return
    places = [0, len(raw)]
    if current:
        places += current.span
        places += [edit.span.start for edit in current.edits[:WINDOWED_EDITS]]
        places += [current.error.at] if current.error else []
    start, end = 0, 0
    for place in sorted(places):
        low, high = max(0, place - MARGIN), min(len(raw), place + MARGIN)
        if low > end:
            yield Span(start, end)
            start = low
        end = high
    yield Span(start, end)


class _Painter:
    """Knows, for any stretch of the raw text, how it looks."""

    def __init__(self, raw: str, attempts: Sequence[Attempt], current: Attempt | None) -> None:
        self.raw = raw
        self.current = current
        self.edits: tuple[Edit, ...] = current.edits if current else ()
        self.edit_starts = [edit.span.start for edit in self.edits]
        self.fault = current.error.at if current and current.error else None
        self.all = current is not None and current.span.end - current.span.start == len(raw)
        others = [a.span for a in attempts if a is not current and a.span.end - a.span.start < len(raw)]
        self.seen_cuts, self.seen_depths = _depths(others)
        own = set(current.span) if current else set()
        at = {self.fault, self.fault + 1} if self.fault is not None else set()
        self.cuts = sorted(own | at | set(self.seen_cuts) | {place for edit in self.edits for place in edit.span})

    def lines(self, window: Span) -> list[Line]:
        line = Line(self.raw.count("\n", 0, window.start) + 1)
        done = [line]
        for tag, start, end, text in self._stretches(window):
            marks, title = self._look(tag, start, end)
            parts = [text.replace("\n", "↵")] if tag == "ins" else text.split("\n")
            for index, part in enumerate(parts):
                breaks = index < len(parts) - 1
                pieces = tuple(runs(part))
                if breaks and (tag == "del" or "at" in marks):
                    pieces += (LINE_FEED,)
                if pieces:
                    line.pieces.append(Piece(tag, pieces, marks, title))
                line.fault = line.fault or ("at" in marks and index == 0)
                if breaks:
                    line = Line(line.number + 1)
                    done.append(line)
        if self.fault == window.end == len(self.raw):
            line.pieces.append(Piece("text", (END,), "at"))
            line.fault = True
        self._gutters(done, window)
        return done

    def _stretches(self, window: Span) -> Iterator[tuple[str, int, int, str]]:
        """(tag, start, end, text) in order; an edit's new text comes after the text that it replaces."""
        inside = self.cuts[bisect_right(self.cuts, window.start) : bisect_right(self.cuts, window.end - 1)]
        for start, end in _pairs([window.start, *inside, window.end]):
            yield from self._inserted(start, insertion=True)
            text = self.raw[start:end]
            edit = self._edit_over(start)
            yield ("del" if edit else "text"), start, end, text
            if edit and edit.span.end == end and edit.new:
                yield "ins", end, end, edit.new
        if window.end == len(self.raw):
            yield from self._inserted(window.end, insertion=True)

    def _inserted(self, at: int, *, insertion: bool) -> Iterator[tuple[str, int, int, str]]:
        for edit in self._edits_at(at):
            if edit.new and (edit.span.start == edit.span.end) is insertion:
                yield "ins", at, at, edit.new

    def _edits_at(self, at: int) -> Iterable[Edit]:
        high = bisect_right(self.edit_starts, at)
        low = high
        while low and self.edit_starts[low - 1] == at:
            low -= 1
        return self.edits[low:high]

    def _edit_over(self, at: int) -> Edit | None:
        index = bisect_right(self.edit_starts, at) - 1
        while index >= 0 and self.edits[index].span.start == self.edits[index].span.end == at:
            index -= 1
        edit = self.edits[index] if index >= 0 else None
        return edit if edit and edit.span.start <= at < edit.span.end else None

    def _look(self, tag: str, start: int, end: int) -> tuple[str, str | None]:
        """The CSS classes of a stretch, and the repair it belongs to."""
        marks = []
        span = self.current.span if self.current else None
        if span and span.start <= start and end <= span.end and (start < span.end or tag == "ins"):
            marks.append("hit whole" if self.all else "hit")
        elif tag == "text" and self._seen(start):
            marks.append("seen")
        if tag != "ins" and start == self.fault and end == start + 1:
            marks.append("at")
        edit = self._edit_over(start) if tag == "del" else self._inserting(start) if tag == "ins" else None
        return " ".join(marks), edit.repair if edit else None

    def _inserting(self, at: int) -> Edit | None:
        """The edit whose new text stands at `at`: one that starts there, or one that ends there."""
        index = bisect_right(self.edit_starts, at) - 1
        while index >= 0 and not (self.edits[index].new and at in self.edits[index].span):
            index -= 1
        return self.edits[index] if index >= 0 else None

    def _seen(self, at: int) -> bool:
        index = bisect_right(self.seen_cuts, at) - 1
        return index >= 0 and self.seen_depths[index] > 0

    def _gutters(self, lines: list[Line], window: Span) -> None:
        if not self.current:
            return
        start, end = self.current.span
        at = self.raw.rfind("\n", 0, window.start) + 1
        for line in lines:
            after = self.raw.find("\n", at)
            after = len(self.raw) if after < 0 else after
            if at <= max(start, end - 1) and start <= after and (start < end or at <= start):
                line.gutter = "on" + (" a" if at <= start <= after else "") + (" z" if at < end <= after + 1 else "")
            at = after + 1


def _depths(spans: Sequence[Span]) -> tuple[list[int], list[int]]:
    """Where the number of spans that cover a place changes, and how many cover it from there on."""
    changes: dict[int, int] = {}
    for start, end in spans:
        if start < end:
            changes[start] = changes.get(start, 0) + 1
            changes[end] = changes.get(end, 0) - 1
    cuts = sorted(changes)
    return cuts, list(accumulate(changes[cut] for cut in cuts))


def _pairs(cuts: list[int]) -> Iterator[tuple[int, int]]:
    for start, end in pairwise(cuts):
        if start < end:
            yield start, end

"""The raw text cut into lines of marked pieces: what was chosen, what edits removed and inserted, what is far away."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from webapp.commands._visible import clipped
from webapp.parsing.edit import Edit
from webapp.parsing.span import Span
from webapp.parsing.trace import Trace

Kind = Literal["plain", "chosen", "edge", "removed", "inserted"]
WHOLE_BELOW = 60  # lines: shorter texts are shown whole
CONTEXT = 2  # lines around a mark in longer ones
LONGEST = 600  # characters of one piece
MOST_PIECES = 150  # of one line
MOST_LINES = 200  # near marks


class Piece(NamedTuple):
    text: str
    kind: Kind


class Line(NamedTuple):
    """A line of the raw text, numbered from 1; `skipped` counts the lines left out before it."""

    number: int
    pieces: list[Piece]
    inside: bool
    skipped: int


class Marks(NamedTuple):
    """What the chosen attempts marked: their spans and edits, each in order and without overlaps."""

    spans: list[Span]
    edits: list[Edit]


def marks(trace: Trace) -> Marks:
    chosen = sorted((trace.attempts[index] for index in trace.chosen), key=lambda attempt: attempt.span)
    spans: list[Span] = []
    edits: list[Edit] = []
    for attempt in chosen:
        if not spans or attempt.span.start >= spans[-1].end:
            spans.append(attempt.span)
            edits.extend(attempt.edits)
    return Marks(spans, edits)


def lines(raw: str, marked: Marks) -> Iterator[Line]:
    """The lines to show, with everything on them. Offsets count code points; lines end at line feeds only."""
    feeds = [match.start() for match in re.finditer("\n", raw)]
    starts = [0, *(feed + 1 for feed in feeds)]
    cuts = _cuts(raw, marked)
    last, first_cut = -1, 0
    for index in _shown(starts, marked):
        end = feeds[index] if index < len(feeds) else len(raw)
        while first_cut < len(cuts) and cuts[first_cut].span.end < starts[index]:
            first_cut += 1
        pieces = _few(_pieces(raw, Span(starts[index], end), cuts, first_cut))
        inside = _touches(marked.spans, starts[index], end)
        yield Line(index + 1, pieces, inside, index - last - 1)
        last = index
    if last < len(starts) - 1:
        yield Line(0, [], False, len(starts) - 1 - last)


def _few(pieces: Iterator[Piece]) -> list[Piece]:
    kept = list(islice(pieces, MOST_PIECES))
    return [*kept, Piece(" … more of this line is not shown", "plain")] if len(kept) == MOST_PIECES else kept


class _Cut(NamedTuple):
    """A run of raw text of one kind, or (empty span) something to write between two characters."""

    span: Span
    kind: Kind
    new: str = ""


def _cuts(raw: str, marked: Marks) -> list[_Cut]:
    cuts = []
    for span in marked.spans:
        at = span.start
        cuts.append(_Cut(Span(at, at), "edge", "⟦"))
        for edit in marked.edits[_from(marked.edits, span.start) : _to(marked.edits, span.end)]:
            cuts.append(_Cut(Span(at, edit.span.start), "chosen"))
            cuts.extend(_of_edit(edit))
            at = edit.span.end
        cuts.append(_Cut(Span(at, span.end), "chosen"))
        cuts.append(_Cut(Span(span.end, span.end), "edge", "⟧"))
    return [cut for cut in cuts if cut.new or cut.span.start < cut.span.end]


def _of_edit(edit: Edit) -> list[_Cut]:
    """Removed, then inserted; but what replaces a line feed is written before it, on the same line."""
    removed = _Cut(edit.span, "removed")
    if "\n" in edit.old:
        return [_Cut(Span(edit.span.start, edit.span.start), "inserted", edit.new), removed]
    return [removed, _Cut(Span(edit.span.end, edit.span.end), "inserted", edit.new)]


def _from(edits: Sequence[Edit], start: int) -> int:
    return bisect_left(edits, start, key=lambda edit: edit.span.start)


def _to(edits: Sequence[Edit], end: int) -> int:
    return bisect_right(edits, end, key=lambda edit: edit.span.end)


def _pieces(raw: str, line: Span, cuts: list[_Cut], first: int) -> Iterator[Piece]:
    at = line.start
    for index in range(first, len(cuts)):
        cut = cuts[index]
        start, end = max(cut.span.start, line.start), min(cut.span.end, line.end)
        if cut.span.start > line.end:
            break
        if cut.new and not line.start <= cut.span.start:
            continue
        if start > at:
            yield Piece(clipped(raw[at:start], LONGEST), "plain")
        if cut.new:
            yield Piece(clipped(cut.new, LONGEST), cut.kind)
        elif cut.span.end > line.end and cut.kind == "removed" and start <= line.end:
            yield Piece(clipped(raw[start:end] + "\n", LONGEST), cut.kind)
        elif start < end:
            yield Piece(clipped(raw[start:end], LONGEST), cut.kind)
        at = max(at, end)
    if at < line.end:
        yield Piece(clipped(raw[at : line.end], LONGEST), "plain")


def _shown(starts: list[int], marked: Marks) -> Iterable[int]:
    """Indexes of the lines to show: all of a short text, those near a mark of a long one."""
    if len(starts) <= WHOLE_BELOW:
        return range(len(starts))
    points = [point for span in marked.spans for point in span]
    points += [point for edit in marked.edits for point in edit.span]
    near = {bisect_right(starts, point) - 1 for point in points} or {0}
    wanted = {at for index in near for at in range(index - CONTEXT, index + CONTEXT + 1)}
    return sorted(at for at in wanted if 0 <= at < len(starts))[:MOST_LINES]


def _touches(spans: Sequence[Span], start: int, end: int) -> bool:
    index = bisect_right(spans, end, key=lambda span: span.start) - 1
    return index >= 0 and spans[index].end > start

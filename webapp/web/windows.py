"""Windows: which stretches of a long text a page shows, so that ten megabytes need few elements; or it in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from webapp.parsing.drawing import Drawing, telling
from webapp.parsing.edit import Span
from webapp.parsing.trace import UNFIT
from webapp.store.sessions.turns import ExampleText
from webapp.visible import SPECIAL, visible

WHOLE_LENGTH = 60_000
WHOLE_LINES = 500
"""Code points and lines up to which a text is shown whole."""
MARGIN = 2_000
MARGIN_LINES = 12
"""What is shown around a place, on either side."""
ENDS = 4_000
ENDS_LINES = 50
"""What is shown of the head and of the tail."""
ASKED = 20_000
ASKED_LINES = 200
"""The most that one request can ask for beside these."""
GLYPHS = 1_000
"""Characters in one window that take an element each."""
_ELEMENTS = re.compile(rf"\t+|{SPECIAL.pattern}")


def windows(raw: str, places: Iterable[int], requested: Iterable[Span] = ()) -> list[Span]:
    """The stretches to show, in order and apart: the whole of a short text, else head, tail, `requested`, `places`."""
    if len(raw) <= WHOLE_LENGTH and raw.count("\n") < WHOLE_LINES:
        spans = [Span(0, len(raw))]
    else:
        spans = [_ahead(raw, 0, ENDS, ENDS_LINES), _behind(raw, len(raw), ENDS, ENDS_LINES), *requested]
        spans += [around(raw, place) for place in places]
    return [_thinned(raw, window) for window in _joined(raw, sorted(spans))]


def around(raw: str, place: int) -> Span:
    """What is shown around one place: whole lines where they are short enough."""
    start = _behind(raw, place, MARGIN, MARGIN_LINES).start
    return Span(start, _ahead(raw, place, MARGIN, MARGIN_LINES).end)


def of_lines(raw: str, first: int, last: int) -> Span:
    """Lines `first` to `last`, counted from 1; at most as many as one request may ask for."""
    start = line_start(raw, max(1, first))
    end = start
    for _ in range(min(max(0, last - first), ASKED_LINES - 1) + 1):
        feed = raw.find("\n", end, start + ASKED)
        if feed < 0:
            return Span(start, min(len(raw), start + ASKED))
        end = feed + 1
    return Span(start, end)


def of_characters(raw: str, start: int, end: int) -> Span:
    """`raw[start:end]` as far as one request may ask for it."""
    start = min(max(0, start), len(raw))
    return Span(start, min(len(raw), max(start, end), start + ASKED))


def line_start(raw: str, number: int) -> int:
    """Where line `number`, counted from 1, begins; the text's end where it has fewer lines."""
    feeds = re.finditer("\n", raw)
    return next((feed.end() for feed in islice(feeds, number - 2, None)), len(raw)) if number > 1 else 0


def _ahead(raw: str, at: int, length: int, lines: int) -> Span:
    text = raw[at : at + length]
    parts = text.split("\n", lines)
    if len(parts) > lines:
        return Span(at, at + len(text) - len(parts[-1]))
    return Span(at, at + len(text) - (len(parts[-1]) if len(parts) > 1 and at + length < len(raw) else 0))


def _behind(raw: str, at: int, length: int, lines: int) -> Span:
    text = raw[max(0, at - length) : at]
    parts = text.rsplit("\n", lines)
    if len(parts) > lines or (len(parts) > 1 and at > length):
        return Span(at - len(text) + len(parts[0]) + 1, at)
    return Span(at - len(text), at)


def _joined(raw: str, spans: list[Span]) -> Iterator[Span]:
    """Windows that touch, or that leave no more out than the note on it would take."""
    start, end = spans[0]
    for low, high in spans[1:]:
        if low > end + 200 or raw.count("\n", end, low) > 2:
            yield Span(start, end)
            start = low
        end = max(end, high)
    yield Span(start, end)


def _thinned(raw: str, window: Span) -> Span:
    """A window full of characters that each need an element ends early."""
    last = next(islice(_ELEMENTS.finditer(raw, window.start, window.end), GLYPHS, None), None)
    return window if last is None else Span(window.start, last.start())


BEFORE, AFTER = 24, 96
"""code points of raw text in front of the first edit and behind it"""
SHORTEST_GAP = 16
"""code points that are as long as what would be said instead"""
LONGEST_EDIT = 40


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A line or a stretch of one: `text`, `del`, `ins`, `at` (a place without a width) or `gap`, what is left out."""

    tag: str
    text: str


def pieces(example: ExampleText) -> list[TaggedText]:
    """The line; of a text that is too long to be read for it, only how long it is."""
    raw, trace = example.raw, example.ours
    if raw is None:
        return [TaggedText("gap", f"{example.size:,} bytes, too long to be drawn here")]
    if trace and trace.version == UNFIT:
        return [_text(raw[:AFTER]), TaggedText("gap", "its stored parse does not fit this text")]
    drawing = Drawing(raw, telling(trace) if trace else [])
    starts = [edit.span.start for edit in drawing.edits] or sorted(drawing.faults)
    at = (starts or [attempt.span.start for attempt in drawing.attempts] or [0])[0]
    first = max(0, at - BEFORE) if at > BEFORE + SHORTEST_GAP else 0
    last = len(raw) if at + AFTER + SHORTEST_GAP >= len(raw) else at + AFTER
    line = [TaggedText("gap", f"{first:,} characters")] if first else []
    for stretch in drawing.stretches(Span(first, last)):
        if stretch.fault:
            line.append(TaggedText("at", "▲"))
        tag = {"removed": "del", "inserted": "ins"}.get(stretch.kind)
        line.append(TaggedText(tag, _cut(stretch.text)) if tag else _text(stretch.text))
    if last < len(raw):
        line.append(TaggedText("gap", f"{len(raw) - last:,} characters"))
    return [piece for piece in line if piece.text]


def _text(text: str) -> TaggedText:
    return TaggedText("text", visible(text.replace("\r\n", "\n").replace("\n", "↵")))


def _cut(text: str) -> str:
    cut = text if len(text) <= LONGEST_EDIT else f"{text[:LONGEST_EDIT]}…"
    return visible(cut.replace("\n", "↵"))

"""A response drawn in plain text: ⟦what was read⟧, [-removed-], {+inserted+}, and ▲ where an attempt stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice, zip_longest
from typing import Any, NamedTuple

from webapp.parsing.drawing import Drawing, DrawnLine, Stretch, telling
from webapp.parsing.edit import Span
from webapp.parsing.trace import Attempt, Trace
from webapp.visible import clipped

WRITTEN = {"removed": ("[-", "-]"), "inserted": ("{+", "+}")}
WHOLE_BELOW = 60
"""Lines: shorter texts are shown whole."""
CONTEXT = 2
"""Lines around a mark in longer ones."""
MOST_MARKED_LINES = 200
MOST_PIECES = 150
"""of one line"""
LONGEST_PIECE = 600
"""characters"""


class TextPiece(NamedTuple):
    """A stretch of a line as it is written; its `look` is text, read, bracket, removed, inserted, fault or more."""

    text: str
    look: str


def marked_text(raw: str, trace: Trace | None) -> str:
    """The response's lines with their numbers; of a long one those near a mark, with a count of what is left out."""
    lines = numbered(raw, telling(trace) if trace else [])
    width = len(str(raw.count("\n") + 1))
    texts = (
        f"{'⋮':>{width}}   {line} lines left out"
        if isinstance(line, int)
        else f"{line.number:>{width}} │ {''.join(piece.text for piece in pieces(line))}"
        for line in lines
    )
    return "\n".join(text.rstrip() for text in texts)


def numbered(raw: str, attempts: Sequence[Attempt]) -> Iterator[DrawnLine | int]:
    """The lines to show, in order; a number stands for so many that are left out."""
    drawing, count, last = Drawing(raw, attempts), raw.count("\n") + 1, 0
    is_short = count <= WHOLE_BELOW
    for line in drawing.lines(Span(0, len(raw)), 1) if is_short else drawing.marked_lines(CONTEXT, MOST_MARKED_LINES):
        if line.number > last + 1:
            yield line.number - last - 1
        yield line
        last = line.number
    if count > last:
        yield count - last


def is_read(stretch: Stretch) -> bool:
    return stretch.attempt is not None and stretch.attempt.outcome == "accepted"


def pieces(line: DrawnLine, most: int = MOST_PIECES, longest: int = LONGEST_PIECE) -> Iterator[TextPiece]:
    """The line's pieces from left to right, each clipped, with brackets where what was read begins and ends."""
    stretches = (stretch for stretch in line.stretches if not stretch.feed)
    runs = [list(group) for _, group in islice(groupby(stretches, key=_look), most + 1)]
    owner = None
    for run, following in zip_longest(runs[:most], runs[1:]):
        if run is not None:
            yield from _run(run, owner, following[0].attempt if following else None, longest)
            owner = run[0].attempt
    if len(runs) > most:
        yield TextPiece(" … more of this line is not shown", "more")


def _look(stretch: Stretch) -> tuple[Any, ...]:
    return stretch.kind, stretch.edit, stretch.attempt and stretch.attempt.span, stretch.fault


def _run(run: list[Stretch], before: Attempt | None, after: Attempt | None, longest: int) -> Iterator[TextPiece]:
    first, last, owner = run[0], run[-1], run[0].attempt
    accepted = owner if is_read(first) else None
    if accepted and first.start == accepted.span.start and before is not owner:
        yield TextPiece("⟦", "bracket")
    if first.fault:
        yield TextPiece("▲", "fault")
    opener, closer = WRITTEN.get(first.kind, ("", ""))
    look = first.kind if opener else "read" if accepted else "text"
    yield TextPiece(f"{opener}{clipped(''.join(stretch.text for stretch in run), longest)}{closer}", look)
    if accepted and last.end == accepted.span.end and after is not owner and not _goes_on(accepted, last):
        yield TextPiece("⟧", "bracket")


def _goes_on(attempt: Attempt, stretch: Stretch) -> bool:
    """Whether something is inserted at the span's end, on the line after this one."""
    return stretch.kind != "inserted" and bool(attempt.edits) and attempt.edits[-1].span == (stretch.end, stretch.end)

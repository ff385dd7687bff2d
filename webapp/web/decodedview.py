"""The text that an attempt decoded, as its edits made it, and the lines in which it differs from the raw text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webapp.parsing.edit import Edit
from webapp.parsing.span import Span
from webapp.visible import TextRun, line_runs, runs

WHOLE_LENGTH = 8_000
"""Code points of decoded text shown in one piece."""
MARGIN = 300
"""Of a longer text, what is shown of each stretch beside an edit."""
HUNK_MARGIN = 80
MAX_EDITS = 200
MAX_HUNKS = 40


@dataclass(frozen=True, slots=True)
class DecodedPiece:
    """Text that looks the same throughout: `tag` is text, ins, del or gap; a gap leaves `hidden` characters out."""

    tag: str
    runs: tuple[TextRun, ...] = ()
    title: str | None = None
    edit: int | None = None
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class DecodedView:
    """`edits_left` edits come after the last one drawn."""

    bits: list[DecodedPiece]
    length: int
    edits_left: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that differ: the first one's number in the raw text, what stood there, and what was decoded."""

    line: int
    old: list[DecodedPiece]
    new: list[DecodedPiece]


def view(raw: str, span: Span, edits: Sequence[Edit], length: int) -> DecodedView:
    """The decoded text of `length` code points, with every insertion marked and every removal noted by a caret."""
    drawn_edits = edits[:MAX_EDITS]
    margin = WHOLE_LENGTH if length <= WHOLE_LENGTH else MARGIN
    return DecodedView(
        list(_pieces(raw, span, drawn_edits, 1, margin, old=False)), length, len(edits) - len(drawn_edits)
    )


def hunks(raw: str, span: Span, edits: Sequence[Edit]) -> tuple[list[Hunk], int]:
    """The first hunks of the difference between `raw` at `span` and what `edits` make of it, and how many more."""
    groups = list(_groups(raw, span, edits))
    shown_hunks, number, at = [], 1, 0
    for lines, first, last in groups[:MAX_HUNKS]:
        number += raw.count("\n", at, lines.start)
        at = lines.start
        drawn_edits = edits[first:last][:MAX_EDITS]
        sides = [list(_pieces(raw, lines, drawn_edits, first + 1, HUNK_MARGIN, old=old)) for old in (True, False)]
        shown_hunks.append(Hunk(number, sides[0], sides[1]))
    return shown_hunks, max(0, len(groups) - MAX_HUNKS)


def _groups(raw: str, span: Span, edits: Sequence[Edit]) -> Iterator[tuple[Span, int, int]]:
    """Edits whose lines touch, together: the lines within `span`, the first edit's index, one behind the last's."""
    begun, lines = 0, None
    for index, edit in enumerate(edits):
        start = max(span.start, raw.rfind("\n", span.start, edit.span.start) + 1)
        feed = raw.find("\n", max(edit.span.start, edit.span.end - 1), span.end)
        end = span.end if feed < 0 else feed
        if lines is not None and start > lines.end:
            yield lines, begun, index
            begun, lines = index, None
        lines = Span(lines.start if lines else start, max(end, edit.span.end))
    if lines is not None:
        yield lines, begun, len(edits)


def _pieces(
    raw: str, span: Span, edits: Sequence[Edit], first: int, margin: int, *, old: bool
) -> Iterator[DecodedPiece]:
    at = span.start
    for number, edit in enumerate(edits, first):
        yield from _plain(raw, at, edit.span.start, margin)
        changed = edit.old if old else edit.new
        if changed or not old:
            tag = "del" if old else "ins"
            yield DecodedPiece(tag, tuple(_lines(changed)) or (TextRun("‸"),), edit.repair, number)
        at = edit.span.end
    yield from _plain(raw, at, span.end, margin)


def _plain(raw: str, start: int, end: int, margin: int) -> Iterator[DecodedPiece]:
    hidden = end - start - 2 * margin
    if hidden > 0:
        yield DecodedPiece("text", tuple(runs(raw[start : start + margin])))
        yield DecodedPiece("gap", hidden=hidden)
        start = end - margin
    if start < end:
        yield DecodedPiece("text", tuple(runs(raw[start:end])))


def _lines(text: str) -> Iterator[TextRun]:
    """Runs of a changed text, of a long one its beginning; its line feeds as glyphs, since they are what changed."""
    cut = text[: 2 * MARGIN]
    yield from line_runs(cut)
    if len(text) > len(cut):
        yield TextRun(f"⟨{len(text) - len(cut):,} more characters⟩")

"""The text that an attempt decoded, as its edits made it, and the lines in which it differs from the raw text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webapp.parsing.edit import Edit
from webapp.parsing.span import Span
from webapp.web.glyphs import Run, runs

WHOLE = 8_000
"""Code points of decoded text shown in one piece."""
KEPT = 300
"""Of a longer text, what is shown of each stretch beside an edit."""
HUNK_KEPT = 80
MAX_EDITS = 200
MAX_HUNKS = 40


@dataclass(frozen=True, slots=True)
class Bit:
    """Text that looks the same throughout: `tag` is text, ins, del or gap; a gap leaves `hidden` characters out."""

    tag: str
    runs: tuple[Run, ...] = ()
    title: str | None = None
    edit: int | None = None
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class DecodedView:
    """`edits_left` edits come after the last one drawn."""

    bits: list[Bit]
    length: int
    edits_left: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that differ: the first one's number in the raw text, what stood there, and what was decoded."""

    line: int
    old: list[Bit]
    new: list[Bit]


def view(raw: str, span: Span, edits: Sequence[Edit], length: int) -> DecodedView:
    """The decoded text of `length` code points, with every insertion marked and every removal noted by a caret."""
    shown = edits[:MAX_EDITS]
    kept = WHOLE if length <= WHOLE else KEPT
    return DecodedView(list(_bits(raw, span, shown, 1, kept, old=False)), length, len(edits) - len(shown))


def hunks(raw: str, span: Span, edits: Sequence[Edit]) -> tuple[list[Hunk], int]:
    """The first hunks of the difference between `raw` at `span` and what `edits` make of it, and how many more."""
    groups = list(_groups(raw, span, edits))
    found, number, at = [], 1, 0
    for lines, first, last in groups[:MAX_HUNKS]:
        number += raw.count("\n", at, lines.start)
        at = lines.start
        some = edits[first:last][:MAX_EDITS]
        sides = [list(_bits(raw, lines, some, first + 1, HUNK_KEPT, old=old)) for old in (True, False)]
        found.append(Hunk(number, sides[0], sides[1]))
    return found, max(0, len(groups) - MAX_HUNKS)


def _groups(raw: str, span: Span, edits: Sequence[Edit]) -> Iterator[tuple[Span, int, int]]:
    """Edits whose lines touch, together: the lines within `span`, the first edit's index, one behind the last's."""
    begun, lines = 0, None
    for index, edit in enumerate(edits):
        start = max(span.start, raw.rfind("\n", span.start, edit.span.start) + 1)
        found = raw.find("\n", max(edit.span.start, edit.span.end - 1), span.end)
        end = span.end if found < 0 else found
        if lines is not None and start > lines.end:
            yield lines, begun, index
            begun, lines = index, None
        lines = Span(lines.start if lines else start, max(end, edit.span.end))
    if lines is not None:
        yield lines, begun, len(edits)


def _bits(raw: str, span: Span, edits: Sequence[Edit], first: int, kept: int, *, old: bool) -> Iterator[Bit]:
    at = span.start
    for number, edit in enumerate(edits, first):
        yield from _plain(raw, at, edit.span.start, kept)
        changed = edit.old if old else edit.new
        if changed or not old:
            tag = "del" if old else "ins"
            yield Bit(tag, tuple(_lines(changed)) or (Run("‸"),), edit.repair, number)
        at = edit.span.end
    yield from _plain(raw, at, span.end, kept)


def _plain(raw: str, start: int, end: int, kept: int) -> Iterator[Bit]:
    if end - start <= 2 * kept:
        parts: list[tuple[int, int] | int] = [(start, end)]
    else:
        parts = [(start, start + kept), end - start - 2 * kept, (end - kept, end)]
    for part in parts:
        if isinstance(part, int):
            yield Bit("gap", hidden=part)
        elif part[0] < part[1]:
            yield Bit("text", tuple(runs(raw[part[0] : part[1]])))


def _lines(text: str) -> Iterator[Run]:
    """Runs of a changed text, of a long one its beginning; its line feeds as glyphs, since they are what changed."""
    cut = text[: 2 * KEPT]
    for index, line in enumerate(cut.split("\n")):
        if index:
            yield Run("", "LF", "U+000A LINE FEED")
        yield from runs(line)
    if len(text) > len(cut):
        yield Run(f"⟨{len(text) - len(cut):,} more characters⟩")

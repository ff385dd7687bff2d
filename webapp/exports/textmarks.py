"""A response drawn in plain text: its lines, and under them what was read (~), removed (-), and the fault (^)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from webapp.parsing import words
from webapp.parsing.drawing import Drawing, Stretch, telling
from webapp.parsing.trace import Trace
from webapp.visible import runs, sign, visible

WIDTH = 110
CONTEXT = 2
MOST_ROWS = 120


@dataclass(slots=True)
class TextRow:
    """Up to `WIDTH` characters of one line of the raw text; `number` counts lines from 1, 0 where a line goes on."""

    number: int
    text: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_marked(self) -> bool:
        """Whether something happened on it that a reader wants to see."""
        return bool(self.notes) or not {"-", "^"}.isdisjoint("".join(self.marks))


def marked_text(raw: str, trace: Trace | None) -> str:
    """The response's rows with their marks; of a long one, those near a mark, with a count of what is left out."""
    rows = list(_rows(raw, trace))
    lines: list[str] = []
    at = 0
    for index in _near_marks(rows):
        if index > at:
            lines.append(f"     ⋮ {index - at} rows left out")
        lines.extend(_lines(rows[index]))
        at = index + 1
    if at < len(rows):
        lines.append(f"     ⋮ {len(rows) - at} rows left out")
    return "\n".join(lines)


def _near_marks(rows: list[TextRow]) -> list[int]:
    if len(rows) <= MOST_ROWS:
        return list(range(len(rows)))
    near = {0, len(rows) - 1}
    for index, row in enumerate(rows):
        if row.is_marked:
            near.update(range(max(0, index - CONTEXT), min(len(rows), index + CONTEXT + 1)))
    return sorted(near)[:MOST_ROWS]


def _rows(raw: str, trace: Trace | None) -> Iterator[TextRow]:
    drawing = Drawing(raw, telling(trace) if trace else [])
    number, row, noted = 1, TextRow(1), None
    for stretch in drawing.stretches():
        if stretch.edit and stretch.edit != noted:
            noted, edit = stretch.edit, drawing.edits[stretch.edit - 1]
            row.notes.append(f"{edit.repair} {words.change_sentence(edit)}")
        if stretch.fault:
            row.notes.append("it failed here" if stretch.text else "it failed at the end of this")
        for cell in _signs(stretch):
            row.text.append(cell.removesuffix("\n"))
            row.marks.append(_mark(stretch) * len(row.text[-1]))
            feed = cell.endswith("\n")
            if feed or len(row.text) >= WIDTH:
                yield row
                number += feed
                row = TextRow(number if feed else 0)
    yield row


def _signs(stretch: Stretch) -> Iterator[str]:
    """The stretch's characters as they are drawn; a line ends behind the one that ends with a line feed."""
    if stretch.kind == "inserted":
        return
    feed = "\n" if stretch.kind == "text" and not stretch.fault and stretch.attempt is None else "↵\n"
    for run in runs(stretch.text):
        if run.code is not None:
            yield sign(chr(run.code))
        for character in run.text:
            yield feed if character == "\n" else visible(character) if character == "\t" else character


def _mark(stretch: Stretch) -> str:
    if stretch.fault or stretch.kind == "removed":
        return "^" if stretch.fault else "-"
    return "~" if stretch.attempt and stretch.attempt.ok else " "


def _lines(row: TextRow) -> Iterator[str]:
    yield f"{row.number or '':>4} │ {''.join(row.text)}".rstrip()
    marks = "".join(row.marks).rstrip()
    if marks or row.notes:
        yield f"     │ {marks}{'   ' if row.notes else ''}{'; '.join(row.notes)}".rstrip()

"""A response drawn in plain text: its lines, and under them what was read (~), removed (-), and the fault (^)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.exports.drawing import Kind, Stretch, shown, sign, stretches

WIDTH = 110
CONTEXT = 2
MOST_ROWS = 120
_MARK: dict[Kind, str] = {"plain": " ", "read": "~", "tried": " ", "removed": "-", "inserted": "+", "fault": "^"}


@dataclass(slots=True)
class Row:
    """Up to `WIDTH` characters of one line of the raw text; `number` counts lines from 1, 0 where a line goes on."""

    number: int
    text: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def told(self) -> bool:
        """Whether something happened on it that a reader wants to see."""
        return bool(self.notes) or not {"-", "^"}.isdisjoint("".join(self.marks))


def drawn(raw: str, trace: dict[str, Any] | None) -> str:
    """The response's rows with their marks; of a long one, those near a mark, with a count of what is left out."""
    rows = list(_rows(raw, trace))
    kept = _kept(rows)
    lines: list[str] = []
    at = 0
    for index in kept:
        if index > at:
            lines.append(f"     ⋮ {index - at} rows left out")
        lines.extend(_lines(rows[index]))
        at = index + 1
    if at < len(rows):
        lines.append(f"     ⋮ {len(rows) - at} rows left out")
    return "\n".join(lines)


def _kept(rows: list[Row]) -> list[int]:
    if len(rows) <= MOST_ROWS:
        return list(range(len(rows)))
    near = {0, len(rows) - 1}
    for index, row in enumerate(rows):
        if row.told:
            near.update(range(max(0, index - CONTEXT), min(len(rows), index + CONTEXT + 1)))
    return sorted(near)[:MOST_ROWS]


def _rows(raw: str, trace: dict[str, Any] | None) -> Iterator[Row]:
    number, row = 1, Row(1)
    removed: tuple[int, Row] | None = None
    for stretch in stretches(raw, trace):
        if stretch.kind == "inserted":
            told = removed[1] if removed and removed[0] == stretch.start else row
            told.notes.append(f"{stretch.repair} inserts {shown(stretch.text)[:60]}")
            continue
        removed = (stretch.start + len(stretch.text), row) if stretch.kind == "removed" else None
        _note(row, stretch)
        for character in stretch.text:
            broken = character == "\n"
            drawn_as = ("↵" if stretch.kind != "plain" else "") if broken else sign(character) or character
            row.text.append(drawn_as)
            row.marks.append(_MARK[stretch.kind] * len(drawn_as))
            if broken or len(row.text) >= WIDTH:
                yield row
                number += broken
                row = Row(number if broken else 0)
    yield row


def _note(row: Row, stretch: Stretch) -> None:
    if stretch.kind == "removed":
        row.notes.append(f"{stretch.repair} removes {shown(stretch.text)[:60]}")
    if stretch.kind == "fault":
        row.notes.append("it failed here" if stretch.text else "it failed at the end of this")


def _lines(row: Row) -> Iterator[str]:
    yield f"{row.number or '':>4} │ {''.join(row.text)}".rstrip()
    marks = "".join(row.marks).rstrip()
    if marks or row.notes:
        yield f"     │ {marks}{'   ' if row.notes else ''}{'; '.join(row.notes)}".rstrip()

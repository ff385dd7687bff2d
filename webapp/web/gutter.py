"""The gutter of the raw pane: a bracket for each span that an attempt looked at, and a note where each one stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webapp.parsing import Attempt, words
from webapp.parsing.edit import Span

LANES = 2
"""Brackets side by side, beside the current attempt's own."""
MOST_BRACKETS = 24
MOST_NOTES = 40


@dataclass(frozen=True, slots=True)
class Bracket:
    """One span beside the current one: the attempts that looked at it, in a lane; `outcome` is the last one's."""

    lane: int
    span: Span
    rows: Span
    attempts: tuple[int, ...]
    outcome: str
    says: str


@dataclass(frozen=True, slots=True)
class StopNote:
    """An attempt that stopped in a line, `current` for the one being looked at."""

    at: int
    attempt: int
    strategy: str
    message: str
    current: bool


@dataclass(frozen=True, slots=True)
class Gutter:
    own_span: Span | None
    brackets: list[Bracket]
    stops: list[StopNote]

    def lanes(self, line: Span) -> str:
        """CSS classes of the lanes that pass a line: `g1` goes through, `g1a` begins, `g1z` ends, `g1a g1z` both."""
        classes = [] if self.own_span is None else [_lane(0, self.own_span, line)]
        classes += [_lane(bracket.lane, bracket.span, line) for bracket in self.brackets]
        return " ".join(filter(None, classes))

    def brackets_from(self, line: Span) -> list[Bracket]:
        return [bracket for bracket in self.brackets if line.start <= bracket.span.start <= line.end]

    def notes(self, line: Span) -> list[StopNote]:
        """What stopped in a line: the current attempt first, one note for each message."""
        notes: dict[tuple[int, str], StopNote] = {}
        for note in self.stops:
            if line.start <= note.at < line.end or note.at == line.start == line.end:
                notes.setdefault((note.at, note.message), note)
        return sorted(notes.values(), key=lambda note: not note.current)


def gutter(raw: str, attempts: Sequence[Attempt], current: int | None) -> Gutter:
    """The gutter for one trace, `current` drawn by itself; at most `MOST_BRACKETS` brackets, the widest first."""
    grouped: dict[Span, list[int]] = {}
    for index, attempt in enumerate(attempts):
        if index != current and attempt.span.start < attempt.span.end:
            grouped.setdefault(attempt.span, []).append(index)
    widest = sorted(grouped, key=lambda span: (span.start - span.end, span.start))[:MOST_BRACKETS]
    brackets: list[Bracket] = []
    for span in widest:
        rows = _rows(raw, span)
        lane = _free(brackets, rows)
        if lane is not None:
            brackets.append(_bracket(attempts, grouped[span], span, rows, lane))
    own_span = None if current is None or current >= len(attempts) else attempts[current].span
    return Gutter(own_span, brackets, _stops(attempts, current))


def _bracket(attempts: Sequence[Attempt], indexes: list[int], span: Span, rows: Span, lane: int) -> Bracket:
    says = "; ".join(
        f"attempt {index + 1}, {attempts[index].strategy}: {words.attempt_sentence(attempts[index], chosen=True)}"
        for index in indexes[:3]
    )
    return Bracket(lane, span, rows, tuple(indexes), attempts[indexes[-1]].outcome, says)


def _stops(attempts: Sequence[Attempt], current: int | None) -> list[StopNote]:
    order = sorted(range(len(attempts)), key=lambda index: index != current)
    notes = [
        StopNote(error.at, index, attempts[index].strategy, words.wording(error.message), index == current)
        for index in order
        if (error := attempts[index].error) is not None
    ]
    return notes[:MOST_NOTES]


def _free(brackets: list[Bracket], rows: Span) -> int | None:
    occupied = {bracket.lane for bracket in brackets if bracket.rows.start < rows.end and rows.start < bracket.rows.end}
    return next((lane for lane in range(1, LANES + 1) if lane not in occupied), None)


def _rows(raw: str, span: Span) -> Span:
    """The span of the whole lines that `span` touches."""
    end = raw.find("\n", max(span.start, span.end - 1))
    return Span(raw.rfind("\n", 0, span.start) + 1, len(raw) + 1 if end < 0 else end + 1)


def _lane(lane: int, span: Span, line: Span) -> str:
    if span.start > line.end or span.end <= line.start:
        return ""
    begins = f" g{lane}a" if line.start <= span.start else ""
    return f"g{lane}{begins}" + (f" g{lane}z" if span.end <= line.end + 1 else "")

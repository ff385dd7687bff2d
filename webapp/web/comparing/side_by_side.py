"""One response under two profiles: each value with the first difference lit, and the trace that it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from webapp import jsontext
from webapp.gate import differences
from webapp.gate.differences import Difference, Path
from webapp.parsing import Trace, installing, words
from webapp.parsing.drawing import telling
from webapp.parsing.edit import apply, places
from webapp.parsing.nodes import Node, nodes
from webapp.parsing.span import Span
from webapp.web import rawview

MOST_LINES = 400
MOST_NODES = 20_000
MOST_ATTEMPTS = 30
LONGEST = 2_000
"""characters of one line that are shown"""


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """One line of a value: `text`, of which what is behind `lit_from` differs first; None where nothing of it does."""

    depth: int
    text: str
    lit_from: int | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """What one profile made of the response. `lit` is the raw span that the first difference came from, None where it
    cannot be located; `more` counts lines that are not shown."""

    trace: Trace
    sentence: str
    lines: list[ComparedLine]
    more: int
    lit: Span | None
    raw: rawview.RawView
    outcome: str
    """of the attempt that is drawn: accepted, failed or rejected; "" where there was none"""
    attempts: list[tuple[int, str, bool]]
    more_attempts: int


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides, and the first difference of their values; None where both read the same, or one reads nothing."""

    a: Side
    b: Side
    difference: Difference | None
    same: bool

    @property
    def not_run(self) -> list[str]:
        """Which of A and B could not be run here."""
        sides = (("A", self.a), ("B", self.b))
        return [letter for letter, side in sides if side.trace.version == installing.ABSENT]


def sides(raw: str, a: Trace, b: Trace) -> Sides:
    """Raises nothing: what cannot be located or shown says so."""
    difference = differences.first(a.values, b.values) if a.values and b.values else None
    return Sides(_side(raw, a, difference), _side(raw, b, difference), difference, bool(a.values) and not difference)


def _side(raw: str, trace: Trace, difference: Difference | None) -> Side:
    lit = None if difference is None else located(raw, trace, difference.path)
    drawing = telling(trace)
    index = next((at for at, attempt in enumerate(trace.attempts) if drawing and attempt is drawing[0]), None)
    if difference is not None and difference.path and isinstance(difference.path[0], int):
        chosen = trace.chosen[difference.path[0] :][:1]
        index = chosen[0] if chosen else index
    lines = list(_values(trace.values, difference))
    first = next((at for at, line in enumerate(lines) if line.lit_from is not None), 0)
    start = max(0, min(first - MOST_LINES // 2, len(lines) - MOST_LINES))
    attempts = [
        (at + 1, f"{attempt.strategy}: {words.attempt_sentence(attempt, at in trace.chosen)}", at in trace.chosen)
        for at, attempt in enumerate(trace.attempts[:MOST_ATTEMPTS])
    ]
    return Side(
        trace,
        words.trace_sentence(trace),
        lines[start : start + MOST_LINES],
        max(0, len(lines) - MOST_LINES),
        lit,
        rawview.view(raw, trace.attempts, rawview.Focus(index, range=lit)),
        "" if index is None else trace.attempts[index].outcome,
        attempts,
        max(0, len(trace.attempts) - MOST_ATTEMPTS),
    )


def located(raw: str, trace: Trace, path: Path) -> Span | None:
    """The raw characters from which the value at `path` was decoded; None where it is not in that text."""
    if not path or not isinstance(path[0], int) or path[0] >= len(trace.chosen):
        return None
    attempt = trace.attempts[trace.chosen[path[0]]]
    node = _node(apply(raw, attempt.span, attempt.edits), path[1:])
    if node is None:
        return None
    end = node.start + 1 if node.end is None else node.end
    start = node.key.start if node.key else node.start
    span = places(attempt.span, attempt.edits).raw(start, end)
    return span if span.start < span.end else None


def _node(text: str, path: Path) -> Node | None:
    """The node of a decoded text to which a path leads; the last of equal keys, as the decoder has it."""
    parsed, _ = nodes(text, MOST_NODES)
    innermost: Node | None = None
    here: list[str | int] = []
    in_array: list[bool] = []
    for node in parsed:
        del here[max(0, node.depth - 1) :], in_array[node.depth :]
        if node.depth:
            here.append(node.place if in_array[-1] else _key(text, node))
        if tuple(here) == tuple(path):
            innermost = node
        in_array.append(node.kind == "array")
    return innermost


def _key(text: str, node: Node) -> str:
    try:
        return str(jsontext.loads(text[node.key.start : node.key.end])) if node.key else ""
    except ValueError:
        return ""


def _values(values: Sequence[Any], difference: Difference | None) -> Iterator[ComparedLine]:
    """The values as lines of indented JSON; the one in which they first differ is lit from there on."""
    for index, value in enumerate(values):
        text, at = jsontext.pretty(value), 0
        lit = _lit(text, difference.path[1:], difference.at) if difference and difference.path[:1] == (index,) else None
        for line in text.split("\n"):
            bare = line.lstrip(" ")
            start, at = at + len(line) - len(bare), at + len(line) + 1
            lit_from = min(lit - start, LONGEST) if lit is not None and start <= lit < at else None
            yield ComparedLine((len(line) - len(bare)) // 2, bare[:LONGEST], lit_from)


def _lit(text: str, path: Path, at: int | None) -> int | None:
    """Where the value at `path` stands, or its character `at`; None where it is not there."""
    node = _node(text, path)
    if node is None or at is None:
        return None if node is None else node.start
    return node.start + len(jsontext.pretty(jsontext.loads(text[node.start : node.end])[:at])) - 1

"""Aligns a text with the response that it was made from: both are walked in step, and edits lie where they part.

Time grows with the texts: looks ahead are bounded, and a budget ends an alignment that finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Replacement = tuple[int, int, str]
"""Start and end in the response, and what stands there in the text."""

Alignment = tuple[int, tuple[int, int], list[Replacement]]
"""What it costs, the span, the edits."""

SAME = 6  # characters in a row that count as being in step again
NEAR, FAR = 48, 4_000  # characters that are looked ahead for them, on both sides and on the response's alone
STARTS = 24  # places at which an alignment is tried
WORK = 400_000  # comparisons that one text may cost before it is given up as unlocated
_QUOTES = "'\"`‘’“”"


@dataclass
class WorkBudget:
    left: int = WORK

    def spend(self, work: int) -> bool:
        self.left -= work
        return self.left >= 0


def apply(raw: str, span: tuple[int, int], edits: Sequence[Replacement]) -> str:
    parts, at = [], span[0]
    for start, end, new in edits:
        parts += [raw[at:start], new]
        at = end
    return "".join([*parts, raw[at : span[1]]])


def align_from(raw: str, text: str, start: int, skipped: int, budget: WorkBudget) -> Alignment:
    stop, edits, cost = follow(raw, start, text, skipped, len(raw), budget)
    if skipped:
        edits.insert(0, (start, start, text[:skipped]))
    return cost + skipped, (start, stop), edits


def follow(raw: str, i: int, text: str, j: int, stop: int, budget: WorkBudget) -> tuple[int, list[Replacement], int]:
    """Walk both texts in step from `i` and `j`; where they part, the nearest place at which they agree again."""
    edits: list[Replacement] = []
    cost = 0
    while j < len(text):
        same = _common(raw, i, text, j, stop)
        i, j = i + same, j + same
        if j == len(text):
            break
        dropped, added = _step(raw, i, text, j, stop, budget)
        edits.append((i, i + dropped, text[j : j + added]))
        cost, i, j = cost + dropped + added, i + dropped, j + added
        if cost > 64 + len(text):
            break
    if j < len(text):  # given up: the text is still made whole, at a cost that rules it out
        edits.append((i, i, text[j:]))
        cost += len(text)
    return i, edits, cost


def _common(raw: str, i: int, text: str, j: int, stop: int) -> int:
    """How many characters agree from here on, by stretches that double."""
    count, step, most = 0, 64, min(stop - i, len(text) - j)
    while count + step <= most and raw[i + count : i + count + step] == text[j + count : j + count + step]:
        count, step = count + step, step * 2
    while step > 1:
        step //= 2
        if count + step <= most and raw[i + count : i + count + step] == text[j + count : j + count + step]:
            count += step
    return count


def _step(raw: str, i: int, text: str, j: int, stop: int, budget: WorkBudget) -> tuple[int, int]:
    """How many characters of the response were dropped here and how many of the text were added."""
    if i < stop and raw[i] in _QUOTES and text[j] in _QUOTES:
        return 1, 1
    for most, same in ((4, 3), (NEAR, SAME), (8, 2)):
        for distance in range(1, most):
            if not budget.spend(distance):
                return 0, len(text) - j
            for dropped in range(distance + 1):
                if _agree(raw, i + dropped, text, j + distance - dropped, stop, same, dropped):
                    return dropped, distance - dropped
    for added in (0, 1, 2, 4):
        anchor = text[j + added : j + added + 2 * SAME]
        at = raw.find(anchor, i, min(stop, i + FAR)) if len(anchor) == 2 * SAME else -1
        if at >= 0:
            return at - i, added
    return 0, len(text) - j


def _agree(raw: str, i: int, text: str, j: int, stop: int, same: int, dropped: int) -> bool:
    length = min(same, len(text) - j)
    enough = length > (0 if dropped < 3 else 2)
    return enough and i + length <= stop and raw.startswith(text[j : j + length], i)


def starts(raw: str, text: str) -> Iterator[tuple[int, int]]:
    """Places where the text may begin: where a piece of its beginning stands in the response."""
    tried: set[int] = set()
    for length in (10, 5, 2):
        for skipped in range(max(0, min(32, len(text) - length + 1))):
            at = raw.find(text[skipped : skipped + length])
            while at >= 0 and len(tried) < STARTS:
                if at - skipped not in tried:
                    tried.add(at - skipped)
                    yield at, skipped
                at = raw.find(text[skipped : skipped + length], at + 1)
            if len(tried) >= STARTS:
                return
        if tried:
            return


def joined(edits: Sequence[Replacement]) -> Iterator[Replacement]:
    """Edits that touch become one."""
    start, end, new = -1, -1, ""
    for edit in edits:
        if edit[0] == end:
            end, new = edit[1], new + edit[2]
            continue
        if end >= 0:
            yield start, end, new
        start, end, new = edit
    if end >= 0:
        yield start, end, new

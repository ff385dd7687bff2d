"""Finds where a text that was handed to a decoder stands in the response, and by which edits it was made from it.

A place is never guessed: but for `derived` and `unlocated`, the edits applied to the span give the text exactly.
Time grows with the texts: looks ahead are bounded, and a budget ends an alignment that finds nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from webapp.capture.process import Call

How = Literal["whole", "exact", "ambiguous", "edited", "derived", "unlocated"]
Replacement = tuple[int, int, str]
"""Start and end in the response, and what stands there in the text."""

Alignment = tuple[int, tuple[int, int], list[Replacement]]
"""What it costs, the span, the edits."""

SAME = 6  # characters in a row that count as being in step again
NEAR, FAR = 48, 4_000  # characters that are looked ahead for them, on both sides and on the response's alone
STARTS = 24  # places at which an alignment is tried
WORK = 400_000  # comparisons that one text may cost before it is given up as unlocated
WORK_IN_ALL = 2_000_000  # the same for all texts of a response
NEAR_ENOUGH = 25  # a repair that changes one in so many characters, or fewer, is looked for nowhere else
SEARCHED = 256  # characters of the response that are searched at the cost of one comparison
_QUOTES = "'\"`‘’“”"
_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_CLOSERS = re.compile(r"[\]}]{1,64}")
_DROPPED_AT_END = "}]`\n\r\t ,;"


@dataclass(slots=True)
class Located:
    """A call with its place: `source` is the index of the call from whose result a derived text was made."""

    call: Call
    how: How
    span: tuple[int, int] | None = None
    edits: tuple[Replacement, ...] = ()
    source: int | None = None
    exhausted: bool = False
    """whether the budget ended before the text was found"""


@dataclass
class Budget:
    left: int = WORK

    def spend(self, work: int) -> bool:
        self.left -= work
        return self.left >= 0


def locate(raw: str, calls: Sequence[Call]) -> list[Located]:
    """Each call with its place in `raw`, in the same order."""
    located: list[Located] = []
    made, budget = Made(located), Budget(WORK_IN_ALL)
    for call in calls:
        located.append(_place(raw, call, located, made, budget))
    return located


@dataclass(slots=True)
class Made:
    """The texts that were made of values so far, each with the index of its call; looked through when first asked."""

    located: Sequence[Located]
    texts: dict[str, int] = field(default_factory=dict)
    seen: int = 0

    def of(self, text: str) -> int | None:
        """From which call's value a text was made."""
        for index in range(self.seen, len(self.located)):
            call = self.located[index].call
            for written in _texts_made_of(call.value) if call.ok else ():
                self.texts.setdefault(written, index)
        self.seen = len(self.located)
        return self.texts.get(text)


def apply(raw: str, span: tuple[int, int], edits: Sequence[Replacement]) -> str:
    parts, at = [], span[0]
    for start, end, new in edits:
        parts += [raw[at:start], new]
        at = end
    return "".join([*parts, raw[at : span[1]]])


def _texts_made_of(value: Any) -> list[str]:
    """What a parser hands on when it hands a value on as text: the text itself, or what `json.dumps` writes."""
    if isinstance(value, str):
        return [value]
    try:
        return [json.dumps(value)] if isinstance(value, (dict, list)) else []
    except (TypeError, ValueError, RecursionError):
        return []


def _place(raw: str, call: Call, before: Sequence[Located], made: Made, budget: Budget) -> Located:
    text = call.text
    if text == raw:
        return Located(call, "whole", (0, len(raw)))
    if not budget.spend(len(raw) // SEARCHED):
        return Located(call, "unlocated", exhausted=True)
    outer = _failed_before(before, text)
    if outer and (removal := _cut_at_end(raw, outer, text)):
        return Located(call, "edited", (removal[0] - len(text), removal[1]), (removal,))
    at = raw.find(text) if text else -1
    if at >= 0:
        return _exact(raw, call, at, outer)
    source = made.of(text)
    if source is not None:
        return Located(call, "derived", before[source].span, source=source)
    return _aligned(raw, call, outer, budget) if text else Located(call, "unlocated")


def _exact(raw: str, call: Call, at: int, outer: Located | None) -> Located:
    again = raw.find(call.text, at + 1) >= 0
    if again and outer and outer.span:
        inside = raw.find(call.text, *outer.span)
        at = inside if inside >= 0 else at
    end = at + len(call.text)
    if not again and (closers := _closers_behind(raw, call.text, end)):
        return Located(call, "edited", (at, end + closers), ((end, end + closers, ""),))
    return Located(call, "ambiguous" if again else "exact", (at, end))


def _closers_behind(raw: str, text: str, end: int) -> int:
    """How many closers that the text lacks stand directly behind it: those were cut off, which broke it.

    A text that ends at its first brace is what a pattern finds that stops early: that one removes nothing.
    """
    behind = _CLOSERS.match(raw, end)
    if behind is None or 0 <= text.find("}") == len(text) - 1:
        return 0
    if text.count("{") <= text.count("}") and text.count("[") <= text.count("]"):
        return 0
    outside = _STRINGS.sub("", text)
    lacking = {closer: outside.count(opener) - outside.count(closer) for opener, closer in ("{}", "[]")}
    count = 0
    for closer in behind[0]:
        if lacking[closer] < 1:
            break
        lacking[closer] -= 1
        count += 1
    return count


def _failed_before(before: Sequence[Located], text: str) -> Located | None:
    """The newest attempt that failed on a text of about this length: what is being repaired now."""
    for located in reversed(before[-8:]):
        call = located.call
        if call.ok or located.span is None or located.how == "derived" or call.text == text:
            continue
        if abs(len(call.text) - len(text)) <= max(64, len(text) // 4):
            return located
    return None


def _cut_at_end(raw: str, outer: Located, text: str) -> Replacement | None:
    """The removal, where `text` is the failed attempt less closers at its end: a repair, not another candidate."""
    start, end = outer.span or (0, 0)
    at = start + len(text)
    tail = raw[at:end]
    if outer.edits or not text or not raw.startswith(text, start) or tail.strip(_DROPPED_AT_END):
        return None
    return (at, at + len(tail.rstrip()), "") if tail.strip() else None


def _aligned(raw: str, call: Call, outer: Located | None, in_all: Budget) -> Located:
    """The cheapest alignment, where it keeps half of the text or more; else unlocated."""
    given = min(WORK, in_all.left)
    budget = Budget(given)
    best = _cheapest(raw, call.text, outer, budget)
    in_all.spend(given - max(0, budget.left) + 32 * len(raw) // SEARCHED)
    if best is not None:
        cost, span, edits = best
        joined = tuple(_joined(edits))
        if cost <= max(16, len(call.text) // 2) and apply(raw, span, joined) == call.text:
            return Located(call, "edited", span, joined)
    return Located(call, "unlocated", exhausted=budget.left < 0)


def _cheapest(raw: str, text: str, outer: Located | None, budget: Budget) -> Alignment | None:
    """Against the failed attempt before it, and unless that is near enough from each place where it may begin."""
    best: Alignment | None = None
    if outer:
        best = _against(raw, text, outer, budget)
        if best[0] <= max(4, len(text) // NEAR_ENOUGH):
            return best
    for start, skipped in _starts(raw, text):
        if budget.left <= 0:
            break
        alignment = _from(raw, text, start, skipped, budget)
        best = alignment if best is None or alignment[0] < best[0] else best
    return best


def _against(raw: str, text: str, outer: Located, budget: Budget) -> Alignment:
    start, end = outer.span or (0, 0)
    stop, edits, cost = follow(raw, start, text, 0, end, budget)
    if stop < end:
        edits.append((stop, end, ""))
        cost += end - stop
    return cost, (start, end), edits


def _from(raw: str, text: str, start: int, skipped: int, budget: Budget) -> Alignment:
    stop, edits, cost = follow(raw, start, text, skipped, len(raw), budget)
    if skipped:
        edits.insert(0, (start, start, text[:skipped]))
    return cost + skipped, (start, stop), edits


def follow(raw: str, i: int, text: str, j: int, stop: int, budget: Budget) -> tuple[int, list[Replacement], int]:
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
    while count < most and raw[i + count] == text[j + count]:
        count += 1
    return count


def _step(raw: str, i: int, text: str, j: int, stop: int, budget: Budget) -> tuple[int, int]:
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


def _starts(raw: str, text: str) -> Iterator[tuple[int, int]]:
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


def _joined(edits: Sequence[Replacement]) -> Iterator[Replacement]:
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

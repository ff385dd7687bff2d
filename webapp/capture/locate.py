"""Finds where a text that was handed to a decoder stands in the response, and by which edits it was made from it.

A place is never guessed: but for `derived` and `unlocated`, the edits applied to the span give the text exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from webapp.capture.alignment import WORK, Alignment, Replacement, WorkBudget, align_from, apply, follow, joined, starts
from webapp.capture.process import DecoderCall

How = Literal["whole", "exact", "ambiguous", "edited", "derived", "unlocated"]
WORK_IN_ALL = 2_000_000  # comparisons that all texts of one response may cost
NEAR_ENOUGH = 25  # a repair that changes one in so many characters, or fewer, is looked for nowhere else
SEARCHED = 256  # characters of the response that are searched at the cost of one comparison
_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_CLOSERS = re.compile(r"[\]}]{1,64}")
_DROPPED_AT_END = "}]`\n\r\t ,;"


@dataclass(slots=True)
class Located:
    """A call with its place: `source` is the index of the call from whose result a derived text was made."""

    call: DecoderCall
    how: How
    span: tuple[int, int] | None = None
    edits: tuple[Replacement, ...] = ()
    source: int | None = None
    exhausted: bool = False
    """whether the budget ended before the text was found"""


def locate(raw: str, calls: Sequence[DecoderCall]) -> list[Located]:
    """Each call with its place in `raw`, in the same order."""
    located: list[Located] = []
    made, budget = dict[str, int](), WorkBudget(WORK_IN_ALL)
    for index, call in enumerate(calls):
        located.append(_place(raw, call, located, made, budget))
        if call.ok and (text := _text_made_of(call.value)) is not None:
            made.setdefault(text, index)
    return located


def _text_made_of(value: Any) -> str | None:
    """What a parser hands on when it hands a value on as text: the text itself, or what `json.dumps` writes."""
    if not isinstance(value, (dict, list)):
        return value if isinstance(value, str) else None
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None


def _place(
    raw: str, call: DecoderCall, before: Sequence[Located], made: Mapping[str, int], budget: WorkBudget
) -> Located:
    """`made` are the texts that were made of values so far, each with the index of its call."""
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
    source = made.get(text)
    if source is not None:
        return Located(call, "derived", before[source].span, source=source)
    return _aligned(raw, call, outer, budget) if text else Located(call, "unlocated")


def _exact(raw: str, call: DecoderCall, at: int, outer: Located | None) -> Located:
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
    behind = _CLOSERS.match(raw, end) if raw[end : end + 1] in ("}", "]") else None
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


def _aligned(raw: str, call: DecoderCall, outer: Located | None, in_all: WorkBudget) -> Located:
    """The cheapest alignment, where it keeps half of the text or more; else unlocated."""
    allowance = min(WORK, in_all.left)
    budget = WorkBudget(allowance)
    best = _cheapest(raw, call.text, outer, budget)
    in_all.spend(allowance - max(0, budget.left) + 32 * len(raw) // SEARCHED)
    if best is not None:
        cost, span, edits = best
        merged = tuple(joined(edits))
        if cost <= max(16, len(call.text) // 2) and apply(raw, span, merged) == call.text:
            return Located(call, "edited", span, merged)
    return Located(call, "unlocated", exhausted=budget.left < 0)


def _cheapest(raw: str, text: str, outer: Located | None, budget: WorkBudget) -> Alignment | None:
    """Against the failed attempt before it, and unless that is near enough from each place where it may begin."""
    best: Alignment | None = None
    if outer:
        best = _against(raw, text, outer, budget)
        if best[0] <= max(4, len(text) // NEAR_ENOUGH):
            return best
    for start, skipped in starts(raw, text):
        if budget.left <= 0:
            break
        alignment = align_from(raw, text, start, skipped, budget)
        best = alignment if best is None or alignment[0] < best[0] else best
    return best


def _against(raw: str, text: str, outer: Located, budget: WorkBudget) -> Alignment:
    start, end = outer.span or (0, 0)
    stop, edits, cost = follow(raw, start, text, 0, end, budget)
    if stop < end:
        edits.append((stop, end, ""))
        cost += end - stop
    return cost, (start, end), edits

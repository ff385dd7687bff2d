"""Texts that a parser rewrites by patterns before it decodes them: what that changed, as edits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._arguments import Step
from webapp.parsing.profiles._cutting import choose_if_ok
from webapp.parsing.span import Span

Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]
"""a pattern and what `re.sub` puts in the place of each match"""
_NEW = -1


def substituted(
    cut: Callable[[str], Span], *rules: Rule, strategy: str = "whole", strict: bool = True, finite: bool = False
) -> Step:
    """The step that applies the rules in turn to the part of the text that `cut` gives, and decodes the outcome."""

    def step(tracer: Tracer) -> bool:
        span = cut(tracer.raw)
        edits = edits_of(tracer.raw, span, rules, strategy="rewrite")
        attempt = tracer.attempt(strategy, span, edits, strict=strict, finite=finite)
        return choose_if_ok(tracer, attempt)

    return step


def edits_of(raw: str, span: Span, rules: Sequence[Rule], *, strategy: str) -> list[Edit]:
    """What the rules change at `span`, one edit for each stretch of characters. Linear in the text for each rule."""
    text, places = span.of(raw), list(range(*span))
    for pattern, new in rules:
        text, places = _applied(text, places, pattern, new)
    places_kept = [(at, place) for at, place in enumerate(places) if place != _NEW]
    edits = []
    for (left, before), (right, after) in pairwise([(-1, span.start - 1), *places_kept, (len(text), span.end)]):
        if right - left > 1 or after - before > 1:
            gap = Span(before + 1, after)
            edits.append(Edit(strategy, gap, gap.of(raw), text[left + 1 : right]))
    return edits


def _applied(
    text: str, places: list[int], pattern: re.Pattern[str], new: str | Callable[[re.Match[str]], str]
) -> tuple[str, list[int]]:
    """The text after one rule, and the place of each of its characters in the response."""
    parts, now, at = [], [], 0
    for start, end, by in _changes(text, pattern, new):
        parts += [text[at:start], by]
        now += places[at:start] + [_NEW] * len(by)
        at = end
    return "".join([*parts, text[at:]]), now + places[at:]


def _changes(
    text: str, pattern: re.Pattern[str], new: str | Callable[[re.Match[str]], str]
) -> Iterator[tuple[int, int, str]]:
    """Where each match changes something, without what stands at both ends of it before and after."""
    for match in pattern.finditer(text):
        old, by = match[0], new(match) if callable(new) else match.expand(new)
        same = next((at for at, (a, b) in enumerate(zip(old, by, strict=False)) if a != b), None)
        prefix = min(len(old), len(by)) if same is None else same
        right = 0
        while right < min(len(old), len(by)) - prefix and old[-right - 1] == by[-right - 1]:
            right += 1
        if old != by:
            yield match.start() + prefix, match.end() - right, by[prefix : len(by) - right]

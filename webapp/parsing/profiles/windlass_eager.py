"""Windlass before its first fix: every fence and then every {…} in the text is tried as a tool call."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._windlass import Block, call_tools
from webapp.parsing.span import Span

FENCE = re.compile(r"```(?:json)?\s*(\{[^`]*\})\s*```", re.DOTALL)
# The report's \{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}, possessive: what follows each part is never what the part holds,
# so that no match is lost and none is tried twice.
BRACES = re.compile(r"\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+\}", re.DOTALL)


def blocks(raw: str) -> Iterator[Block]:
    """What the fences capture, then what looks like an object in the text without those fences."""
    fences = list(FENCE.finditer(raw))
    for fence in fences:
        yield Block(Span(*fence.span(1)))
    spans = _kept(raw, [Span(*fence.span()) for fence in fences])
    begins = [0, *accumulate(span.end - span.start for span in spans)]
    for match in BRACES.finditer("".join(span.of(raw) for span in spans)):
        first = bisect_right(begins, match.start()) - 1
        last = bisect_right(begins, match.end() - 1) - 1
        span = Span(spans[first].start + match.start() - begins[first], spans[last].start + match.end() - begins[last])
        gaps = [Span(spans[index].end, spans[index + 1].start) for index in range(first, last)]
        edits = tuple(Edit("removed_fence", gap, gap.of(raw), "") for gap in gaps)
        yield Block(span, edits, "balanced")


def _kept(raw: str, removed: list[Span]) -> list[Span]:
    """The spans between the removed ones; empty ones are left out."""
    edges = [0, *(edge for span in removed for edge in span), len(raw)]
    spans = [Span(edges[index], edges[index + 1]) for index in range(0, len(edges), 2)]
    return [span for span in spans if span.start < span.end]


def run(tracer: Tracer) -> None:
    call_tools(tracer, blocks(tracer.raw))


plugin = Described(
    name="windlass-eager",
    report="001",
    roots="tools",
    about=(
        "1. Takes every ```json or unlabelled fence whose content starts with { and ends with } and holds no backtick. "
        "2. Takes those fences out of the text, and from the rest every {…} with at most one level of braces inside. "
        '3. Decodes each; an object with a "tool" is a tool call, JSON without one is ignored silently, and every '
        "failure is one validation error for the agent. 4. If one block is a call, all errors are dropped.\n"
        "So Python dicts, f-strings and {placeholders} in prose are taken for broken tool calls: the report counts 22 "
        "validation errors in one session. Differences from its report: the upper-case ```JSON is no fence to it, "
        "a call with two levels of braces inside is found in fences only, and an inner object may be taken instead. "
        "What stands before and after a fence that was taken out may join to one block."
    ),
    parser=run,
)

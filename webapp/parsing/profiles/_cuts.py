"""Parsers that cut one part out of a response and decode that, once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from webapp.parsing.edit import Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._arriving import refusal
from webapp.parsing.profiles._steps import Parser, between, checked, whole

_OBJECT_BEGINS, _OBJECT_ENDS = re.compile(r"```\w*\r?\n(?=\{)"), re.compile(r"\}(?=\s*+(?:```|\Z))")
Cut = Callable[[str], tuple[str, Span] | None]
"""the strategy and the span; None where nothing is found"""


def _without_fence(raw: str) -> tuple[str, Span]:
    """The response without a fence's marks at its ends, each of which may be missing."""
    start, end = stripped(raw)
    cut = start + next((len(fence) for fence in ("```json", "```") if raw.startswith(fence, start, end)), 0)
    if raw.endswith("```", cut, end):
        end -= 3
    return "fenced" if cut > start else "whole", stripped(raw, cut, end)


def _inside_fence(raw: str) -> tuple[str, Span]:
    """The response, or what the fence holds that it is as a whole."""
    span = stripped(raw)
    label = next((label for label in ("```json", "```python", "```") if raw.startswith(label, *span)), None)
    if label is None or span.end - span.start < 6 or not raw.endswith("```", *span):
        return "whole", span
    return "fenced", stripped(raw, span.start + len(label), max(span.start + len(label), span.end - 3))


def _first_to_last_brace(raw: str) -> tuple[str, Span] | None:
    span = between(raw, "{", "}")
    return ("outermost", span) if span else None


def _first_to_next_brace(raw: str) -> tuple[str, Span] | None:
    start = raw.find("{")
    end = raw.find("}", start) if start >= 0 else -1
    return ("shortest", Span(start, end + 1)) if end >= 0 else None


def _sliced_by_braces(raw: str) -> tuple[str, Span] | None:
    """From the first { to the last }; without a { from the last character, since -1 is where `find` finds none."""
    first, last = raw.find("{"), raw.rfind("}")
    start = first if first >= 0 else len(raw) - 1
    return ("outermost", Span(start, max(start, last + 1))) if last >= 0 else None


def _object_or_fenced(raw: str) -> tuple[str, Span]:
    """A response that begins with {, else the object in the first fence whose line is followed by one, else all."""
    begins = None if raw.startswith("{") else _OBJECT_BEGINS.search(raw)
    ends = begins and _OBJECT_ENDS.search(raw, begins.end())
    return ("fenced", Span(begins.end(), ends.end())) if begins and ends else ("whole", whole(raw))


CUTS: Mapping[str, Cut] = {
    "without_fence": _without_fence,
    "inside_fence": _inside_fence,
    "first_to_last_brace": _first_to_last_brace,
    "first_to_next_brace": _first_to_next_brace,
    "sliced_by_braces": _sliced_by_braces,
    "object_or_fenced": _object_or_fenced,
}


def by_cut(at: str, nothing: str = "", strict: bool = True, in_rust: bool = False) -> Parser:
    """Makes the parser of a cut; `nothing` is said where it finds none, and is empty where nobody is told.

    What `in_rust` is decoded by jiter is refused where that refuses it.
    """

    cut = CUTS[at]

    def parser(tracer: Tracer) -> None:
        if found := cut(tracer.raw):
            attempt = tracer.attempt(*found, strict=strict)
            if attempt.ok:
                checked(tracer, attempt, lambda _: refusal(found[1].of(tracer.raw)) if in_rust else "")
        elif nothing:
            tracer.reject("outermost", whole(tracer.raw), nothing)

    return parser

"""Four strategies in a row: a hosted model's evaluations."""

from __future__ import annotations

import re

from webapp.parsing.edit import Edit, Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import described
from webapp.parsing.profiles._steps import WHITE, between, choose_if_ok, whole

ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_QUOTE_OR_CONTROL = re.compile(r'\\.?|["\n\r\t\x08\f]', re.DOTALL)

_FIRST = "Failed to parse JSON directly for {operation}, trying fallback strategies..."
_DONE = "✓ Successfully parsed {operation} using Strategy "
_OVER = "All JSON parsing strategies failed for {operation}"
_NEVER = f"{_OVER}: one try stands round all of it, so that no later strategy is reached"


def fix_json(raw: str, span: Span) -> list[Edit]:
    """The edits of the report's `fixJSON`: line feed, return, tab, backspace and form feed in strings are escaped.

    Kept from it: a backslash hides what follows it, outside of strings too, where a hidden quote then turns the
    rest inside out; a control character behind a backslash stays as it is; all other ones stay too.
    """
    edits, inside = [], False
    for match in _QUOTE_OR_CONTROL.finditer(raw, *span):
        text = match.group()
        if text == '"':
            inside = not inside
        elif inside and text in ESCAPES:
            edits.append(Edit("control_character", Span(*match.span()), text, ESCAPES[text]))
    return edits


def first_fence(raw: str) -> Span | None:
    """What /```json\\s*([\\s\\S]*?)\\s*```/ captures first, in linear time; JavaScript's idea of white space."""
    opening = raw.find("```json")
    start = opening + len("```json")
    closing = raw.find("```", start) if opening >= 0 else -1
    return stripped(raw, start, closing, WHITE) if closing >= 0 else None


@described("four-tier", version="2", report="003", original="TypeScript")
def plugin(tracer: Tracer) -> None:
    """Four strategies in a row, with control characters escaped: a hosted model's evaluations.

    1. Decodes the whole response. 2a. Decodes the content of the first ```json fence, 2b. the same after fixJSON, which
    escapes line feeds, returns, tabs, backspaces and form feeds inside strings. 3a. Decodes from the first { to the
    last }, 3b. the same after fixJSON. 4. Decodes everything after fixJSON.

    Differences from its report: one try block encloses steps 2 to 4. If there is a fence and 2b fails, it throws, and 3
    and 4 are never reached; the same after 3b; 4 runs only if the response contains no {…} at all. An empty fence is
    skipped. The fence ends at the first ```, inside a string too. fixJSON escapes no other control character, and a
    backslash outside a string makes it take strings for the text between them.

    The original is TypeScript. Here Python's decoder words the errors; as JSON.parse does, it refuses NaN and Infinity.
    Unlike JSON.parse it keeps large integers exact, and gives up on very long ones and very deep nesting.
    """
    raw = tracer.raw
    everything = whole(raw)
    first = tracer.attempt("1", everything, note="Strategy 1: Direct parse", finite=True)
    if choose_if_ok(tracer, first):
        return
    tracer.amend(first, note=f"Strategy 1: Direct parse. {_FIRST}")
    fence, braces = first_fence(raw), between(raw, "{", "}")
    if fence and fence.start == fence.end:
        tracer.reject("2", fence, "an empty fence is passed over", note="Strategy 2")
    if fence and fence.start < fence.end:
        _twice(tracer, fence, "2", "Extract from markdown code block", "Extract from markdown")
    elif braces:
        _twice(tracer, braces, "3", "Extract JSON object", "Extract JSON object")
    else:
        _fixed(tracer, everything, "4", "Fix control chars in entire content", _OVER)


def _twice(tracer: Tracer, span: Span, number: str, plain: str, fixed: str) -> None:
    """Strategies 2 and 3: as written, and after fixJSON as 2b and 3b."""
    attempt = tracer.attempt(number, span, note=f"Strategy {number}a: {plain}", finite=True)
    if attempt.ok:
        tracer.choose(tracer.amend(attempt, note=f"{_DONE}{number}: {plain}"))
    else:
        _fixed(tracer, span, f"{number}b", f"{fixed} + fix control chars", _NEVER)


def _fixed(tracer: Tracer, span: Span, number: str, label: str, failed: str) -> None:
    attempt = tracer.attempt(number, span, fix_json(tracer.raw, span), finite=True)
    note = f"{_DONE}{number}: {label}" if attempt.ok else f"Strategy {number}: {label}. {failed}"
    choose_if_ok(tracer, tracer.amend(attempt, note=note))

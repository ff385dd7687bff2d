"""Parsers that people write by hand: plain decoding, cuts at fences and braces, and several of these in a row."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from webapp.parsing.edit import Edit, Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import BY_HAND, described
from webapp.parsing.profiles._steps import WHITE, balanced, between, choose_if_ok, whole


@described("strip-fences", BY_HAND)
def strip_fences(tracer: Tracer) -> None:
    """Most common hand-written parser: strips white space and ``` fences around the response, then `json.loads`.

    1. Strips white space at both ends. 2. If the rest begins with ```json, or else with ```, cuts that off. 3. If it
    ends with ```, cuts that off. 4. Strips white space again and decodes what is left with json.loads, once. Prose
    before or after the fence, and any other info string, make it fail.
    """
    raw = tracer.raw
    start, end = stripped(raw)
    cut = start + next((len(fence) for fence in ("```json", "```") if raw.startswith(fence, start, end)), 0)
    if raw.endswith("```", cut, end):
        end -= 3
    span = stripped(raw, cut, end)
    choose_if_ok(tracer, tracer.attempt("fenced" if cut > start else "whole", span))


@described("first-to-last-brace", BY_HAND)
def first_to_last_brace(tracer: Tracer) -> None:
    """Common hand-written parser: `json.loads` of everything from the first `{` to the last `}`.

    Decodes, once, from the first { of the response to its last }. Two objects, a brace in the prose behind or before,
    and a list at the root that holds objects all make it fail or give less than what was meant.
    """
    span = between(tracer.raw, "{", "}")
    if span is None:
        tracer.reject("outermost", whole(tracer.raw), "no { with a } behind it")
    else:
        choose_if_ok(tracer, tracer.attempt("outermost", span))


@described("master-before", report="002")
def master_before(tracer: Tracer) -> None:
    r"""The planner before its fix: from the first { to the first } after it, once.

    Takes what the pattern \{.*?\} matches first, from the first { to the first } after it, and decodes that, once. So
    every object that holds another one is cut short at the inner one's end, a { in prose breaks it, and arrays are not
    found. Without a { and a } after it nothing is tried.
    """
    start = tracer.raw.find("{")
    end = tracer.raw.find("}", start) if start >= 0 else -1
    if end >= 0:
        choose_if_ok(tracer, tracer.attempt("shortest", Span(start, end + 1)))


# The report's pattern, possessive: each part begins with what the part before it cannot hold, so that no match is
# lost and none is tried twice.
_OBJECT = r"(\{(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+\})\s*```"
FENCES = (("```json", re.compile(rf"```json\s*{_OBJECT}")), ("```", re.compile(rf"```\s*{_OBJECT}")))

SCORES = {"agents": 100, "complexity": 10, "strategy": 10}


def score(value: object) -> int:
    return sum(points for key, points in SCORES.items() if key in value) if isinstance(value, dict) else 0


@described("master-scored", report="002", roots="best")
def master_scored(tracer: Tracer) -> None:
    """The planner after its fix: the first fence that decodes, else the best-scored of all balanced objects.

    1. Tries every ```json fence that holds an object and nothing else; the first that decodes wins, unscored. 2. The
    same for unlabelled fences. 3. Counts braces over the whole text and collects every balanced object; each that
    decodes scores agents 100, complexity 10, strategy 10, and the highest wins, the first among equals. 4. Decodes the
    whole response without the white space around it. 5. Else its program gets an object with "error" and the first 1000
    characters of the response, which is no value here.

    Differences from its report: the fence pattern stops at three levels of braces. Braces inside strings are counted; a
    stray } makes the count negative and hides what follows. An array of objects gives only one of them, and any object
    wins over the array or text around it. Nothing is repaired.
    """
    if not _fenced(tracer) and not _scored(tracer):
        _last_resort(tracer)


def _fenced(tracer: Tracer) -> bool:
    for label, pattern in FENCES:
        for match in pattern.finditer(tracer.raw):
            attempt = tracer.attempt("fenced", Span(*match.span(1)), note=f"Strategy 1: code block, {label}")
            if choose_if_ok(tracer, attempt):
                tracer.amend(attempt, note="[JSONParser] Successfully parsed from code block")
                return True
    return False


def _scored(tracer: Tracer) -> bool:
    """Strategies 2 and 3: decode every candidate, show every score, choose the highest."""
    scores: dict[int, int] = {}
    for span in balanced(tracer.raw):
        attempt = tracer.attempt("balanced", span, note="Strategy 2: balanced braces")
        if attempt.ok:
            scores[len(tracer.attempts) - 1] = score(attempt.value)
    best = max(scores, key=lambda index: scores[index], default=-1)
    for index, points in scores.items():
        why = "as the first of that score" if points == scores[best] else f"with {scores[best]}"
        changes: dict[str, Any] = {"outcome": "rejected", "reason": f"another object wins {why}"}
        if index == best:
            changes = {"note": f"[JSONParser] Selected JSON with score {points}"}
            tracer.chosen.append(index)
        tracer.attempts[index] = replace(tracer.attempts[index], score=points, **changes)
    return best >= 0


def _last_resort(tracer: Tracer) -> None:
    attempt = tracer.attempt("whole", stripped(tracer.raw))
    note = "[JSONParser] Parsed entire response as JSON"
    if not attempt.ok:
        note = '[JSONParser] Failed to extract valid JSON from response; the program gets {"error", "raw_response"}'
    choose_if_ok(tracer, tracer.amend(attempt, note=note))


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
def four_tier(tracer: Tracer) -> None:
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


plugins = (strip_fences, first_to_last_brace, master_before, master_scored, four_tier)

"""A planner's parser: fences, else the best of all balanced objects."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from webapp.parsing.edit import Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import described
from webapp.parsing.profiles._steps import balanced, choose_if_ok

# The report's pattern, possessive: each part begins with what the part before it cannot hold, so that no match is
# lost and none is tried twice.
_OBJECT = r"(\{(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+\})\s*```"
FENCES = (("```json", re.compile(rf"```json\s*{_OBJECT}")), ("```", re.compile(rf"```\s*{_OBJECT}")))

SCORES = {"agents": 100, "complexity": 10, "strategy": 10}


def score(value: object) -> int:
    return sum(points for key, points in SCORES.items() if key in value) if isinstance(value, dict) else 0


@described("master-scored", report="002", roots="best")
def plugin(tracer: Tracer) -> None:
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

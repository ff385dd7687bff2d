"""DSPy's JSONAdapter: json_repair over the whole response, else over the first balanced braces."""

from __future__ import annotations

import json
import re

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._cutting import rewritten, whole
from webapp.parsing.profiles.json_repair import repaired_text
from webapp.parsing.span import Span

_BRACE = re.compile("[{}]")


def run(tracer: Tracer) -> None:
    if _fields(tracer, "whole", whole(tracer.raw)):
        return
    braces = first_balanced(tracer.raw)
    if braces:
        _fields(tracer, "balanced", braces)


def _fields(tracer: Tracer, strategy: str, span: Span) -> bool:
    if tracer.probe(span, []) is None:
        attempt = tracer.attempt(strategy, span)
    elif (written := repaired_text(tracer, span)) is not None:
        attempt = rewritten(tracer, strategy, span, json.loads(written), "by json_repair")
    else:
        return False
    if isinstance(attempt.value, dict):
        tracer.choose(attempt)
        return True
    tracer.amend(attempt, outcome="rejected", reason="no object")
    return False


def first_balanced(raw: str) -> Span | None:
    r"""What the recursive pattern \\{(?:[^{}]|(?R))*\\} finds first, in linear time."""
    openers: list[int] = []
    best: Span | None = None
    for match in _BRACE.finditer(raw):
        if match.group() == "{":
            openers.append(match.start())
        elif openers:
            span = Span(openers.pop(), match.end())
            if best is None or span.start < best.start:
                best = span
            if not openers:
                return best
        elif best:
            return best
    return best


plugin = Described(
    name="dspy",
    group=LIBRARIES,
    version=restated("3.4.1", "json-repair"),
    about=(
        "1. json_repair.loads over the whole response, including prose. 2. If that gives no object, json_repair.loads "
        "over the first { that some } balances, ignoring strings. 3. If that is no object either, it raises. "
        "What the signature asks for, by which DSPy then drops and casts fields, is not known here.\n"
        "Source: dspy 3.4.1, dspy/adapters/json_adapter.py, JSONAdapter.parse."
    ),
    parser=run,
)

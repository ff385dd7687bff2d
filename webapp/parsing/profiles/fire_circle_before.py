"""A dialogue's evaluations before the fix: a fence is stripped only if it is the whole response."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._cutting import choose_if_ok
from webapp.parsing.profiles._fire_circle import LABELS
from webapp.parsing.span import Span, stripped


def run(tracer: Tracer) -> None:
    whole = stripped(tracer.raw)
    span = _inside(tracer.raw, whole)
    choose_if_ok(tracer, tracer.attempt("fenced" if span != whole else "whole", span))


def _inside(raw: str, whole: Span) -> Span:
    if whole.end - whole.start < 6 or not raw.endswith("```", *whole):
        return whole
    label = next((label for label in LABELS if raw.startswith(label, *whole)), None)
    if label is None:
        return whole
    return stripped(raw, whole.start + len(label), max(whole.start + len(label), whole.end - 3))


plugin = Described(
    name="fire-circle-before",
    report="000",
    about=(
        "1. Strips white space. 2. If the response starts with ```json, ```python or ``` and ends with ```, strips "
        "both. 3. Decodes what is left, as json.loads does. So prose before the fence or after the JSON fails, which "
        "is what the report set out to mend. The required keys of the later versions are not checked here."
    ),
    parser=run,
)

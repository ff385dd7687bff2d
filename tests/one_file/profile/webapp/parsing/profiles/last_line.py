"""A parser that reads the end of a response."""

from __future__ import annotations

from webapp.parsing.edit import Span
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import BY_HAND, described


@described("last-line", BY_HAND)
def plugin(tracer: Tracer) -> None:
    """Plain `json.loads` over the last line that is not empty.

    Decodes the last line that is not empty, once: for models that think aloud and answer at the end.
    """
    end = len(tracer.raw.rstrip())
    start = tracer.raw.rfind("\n", 0, end) + 1
    attempt = tracer.attempt("lines", Span(start, end))
    if attempt.ok:
        tracer.choose(attempt)

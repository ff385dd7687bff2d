"""The planner before its fix: from the first { to the first } after it, once."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._cutting import choose_if_ok
from webapp.parsing.span import Span


def run(tracer: Tracer) -> None:
    start = tracer.raw.find("{")
    end = tracer.raw.find("}", start) if start >= 0 else -1
    if end >= 0:
        choose_if_ok(tracer, tracer.attempt("shortest", Span(start, end + 1)))


plugin = Described(
    name="master-before",
    report="002",
    about=(
        "Takes what the pattern \\{.*?\\} matches first, from the first { to the first } after it, and decodes that, "
        "once. So every object that holds another one is cut short at the inner one's end, a { in prose breaks it, "
        "and arrays are not found. Without a { and a } after it nothing is tried."
    ),
    parser=run,
)

"""smolagents' `parse_json_blob`: from the first `{` to the last `}`, control characters in strings allowed."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._cutting import choose_if_ok, whole
from webapp.parsing.span import Span


def run(tracer: Tracer) -> None:
    raw = tracer.raw
    last = raw.rfind("}")
    if last < 0:
        tracer.reject("outermost", whole(raw), "ValueError: The model output does not contain any JSON blob.")
        return
    first = raw.find("{")
    start = first if first >= 0 else len(raw) - 1  # str.find gives -1, and the slice counts it from the end
    choose_if_ok(tracer, tracer.attempt("outermost", Span(start, max(start, last + 1)), strict=False))


plugin = Described(
    name="smolagents",
    group=LIBRARIES,
    version=restated("1.26.0"),
    about=(
        "Decodes from the first { to the last }, with strict=False, so that raw newlines and tabs in strings pass. "
        "Raises where there is no } at all; where there is no { it decodes nothing but the last character's tail.\n"
        "Source: smolagents 1.26.0, smolagents/utils.py, parse_json_blob."
    ),
    parser=run,
)

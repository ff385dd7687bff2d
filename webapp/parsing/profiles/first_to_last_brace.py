"""Common hand-written parser: `json.loads` of everything from the first `{` to the last `}`."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import BY_HAND
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._cutting import between, choose_if_ok, whole


def run(tracer: Tracer) -> None:
    span = between(tracer.raw, "{", "}")
    if span is None:
        tracer.reject("outermost", whole(tracer.raw), "no { with a } behind it")
    else:
        choose_if_ok(tracer, tracer.attempt("outermost", span))


plugin = Described(
    name="first-to-last-brace",
    group=BY_HAND,
    about=(
        "Decodes, once, from the first { of the response to its last }. Two objects, a brace in the prose behind or "
        "before, and a list at the root that holds objects all make it fail or give less than what was meant."
    ),
    parser=run,
)

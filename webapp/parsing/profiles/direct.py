"""Plain `json.loads` over the whole response, and nothing else."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import BY_HAND
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._cutting import choose_if_ok, whole


def run(tracer: Tracer) -> None:
    choose_if_ok(tracer, tracer.attempt("whole", whole(tracer.raw)))


plugin = Described(
    name="direct",
    group=BY_HAND,
    about=(
        "Decodes the whole response with Python's json.loads, once. White space around the JSON is allowed, "
        "anything else fails: it shows the result of a program that expects JSON only."
    ),
    parser=run,
)

"""Most common hand-written parser: strips white space and ``` fences around the response, then `json.loads`."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import BY_HAND
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._cutting import choose_if_ok
from webapp.parsing.span import stripped


def run(tracer: Tracer) -> None:
    raw = tracer.raw
    start, end = stripped(raw)
    cut = start
    for opening in ("```json", "```"):
        if raw.startswith(opening, start, end):
            cut = start + len(opening)
            break
    if raw.endswith("```", cut, end):
        end -= 3
    span = stripped(raw, cut, max(cut, end))
    choose_if_ok(tracer, tracer.attempt("fenced" if cut > start else "whole", span))


plugin = Described(
    name="strip-fences",
    group=BY_HAND,
    about=(
        "1. Strips white space at both ends. 2. If the rest begins with ```json, or else with ```, cuts that off. "
        "3. If it ends with ```, cuts that off. 4. Strips white space again and decodes what is left with json.loads, "
        "once. Prose before or after the fence, and any other info string, make it fail."
    ),
    parser=run,
)

"""Most common hand-written parser: strips white space and ``` fences around the response, then `json.loads`."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import BY_HAND
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._cutting import stripped_of, whole
from webapp.parsing.span import Span


@dataclass(frozen=True)
class StripFences(Described):
    name: str = "strip-fences"
    group: str = BY_HAND
    about: str = (
        "1. Strips white space at both ends. 2. If the rest begins with ```json, or else with ```, cuts that off. "
        "3. If it ends with ```, cuts that off. 4. Strips white space again and decodes what is left with json.loads, "
        "once. Prose before or after the fence, and any other info string, make it fail."
    )

    def run(self, tracer: Tracer) -> None:
        raw = tracer.raw
        start, end = stripped_of(raw, whole(raw))
        cut = start
        for opening in ("```json", "```"):
            if raw.startswith(opening, start, end):
                cut = start + len(opening)
                break
        if raw.endswith("```", cut, end):
            end -= 3
        fenced = cut > start
        attempt = tracer.attempt("fenced" if fenced else "whole", stripped_of(raw, Span(cut, max(cut, end))))
        if attempt.ok:
            tracer.choose(attempt)


plugin = StripFences()

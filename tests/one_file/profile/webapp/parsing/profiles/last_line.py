"""Plain `json.loads` over the last line that is not empty."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.parsing.edit import Span
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import Described


@dataclass(frozen=True)
class LastLine(Described):
    name: str = "last-line"
    about: str = "Decodes the last line that is not empty, once: for models that think aloud and answer at the end."

    def run(self, tracer: Tracer) -> None:
        end = len(tracer.raw.rstrip())
        start = tracer.raw.rfind("\n", 0, end) + 1
        attempt = tracer.attempt("lines", Span(start, end))
        if attempt.ok:
            tracer.choose(attempt)


plugin = LastLine()

"""Plain `json.loads` over the whole response, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import Described
from webapp.parsing.span import Span


@dataclass(frozen=True)
class Direct(Described):
    name: str = "direct"
    about: str = (
        "Decodes the whole response with Python's json.loads, once. White space around the JSON is allowed, "
        "anything else fails: it shows what a program sees that trusts the model to answer with JSON alone."
    )

    def run(self, tracer: Tracer) -> None:
        attempt = tracer.attempt("whole", Span(0, len(tracer.raw)))
        if attempt.ok:
            tracer.choose(attempt)


plugin = Direct()

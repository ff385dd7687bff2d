"""Plain `json.loads` over the whole response, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.parsing.engine import Tracer
from webapp.parsing.span import Span


@dataclass(frozen=True)
class Direct:
    name: str = "direct"
    version: str = "1"

    def run(self, tracer: Tracer) -> None:
        attempt = tracer.attempt("whole", Span(0, len(tracer.raw)))
        if attempt.ok:
            tracer.choose(attempt)


plugin = Direct()

"""Windlass before its last fix: as windlass-strict, but what does not decode is caught, and nobody is told."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._windlass import call_tools, fenced


def run(tracer: Tracer) -> None:
    call_tools(tracer, fenced(tracer.raw), silent=True)


plugin = Described(
    name="windlass-silent",
    report="004",
    roots="tools",
    about=(
        "Takes the blocks that windlass-strict takes and reads them as it does. What does not decode is caught in a "
        "try/except, and neither the agent nor a log is told: the agent goes on as if its tool had run. The program of "
        "report 001 makes a validation error of the same block."
    ),
    parser=run,
)

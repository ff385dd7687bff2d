"""A dialogue's evaluations, mode strict: as fire-circle, but the first failure fails the whole circle."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._fire_circle import gives_up, read
from webapp.parsing.profiles.fire_circle import DEPARTS, STEPS


def run(tracer: Tracer) -> None:
    attempt = read(tracer)
    if not tracer.chosen:
        gives_up(tracer, attempt, "raises, and the whole circle fails")


plugin = Described(
    name="fire-circle-strict",
    report="000",
    about=STEPS + "8. If any of that fails, raises: the whole circle fails, with all its models." + DEPARTS,
    parser=run,
)

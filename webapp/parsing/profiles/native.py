"""A program that takes calls from its model's API alone and parses no text; a text that is JSON is shown as that."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import BY_HAND
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._cutting import choose_if_ok, whole


def run(tracer: Tracer) -> None:
    choose_if_ok(tracer, tracer.attempt("whole", whole(tracer.raw), offers=False))


plugin = Described(
    name="native",
    group=BY_HAND,
    about=(
        "Agents such as Claude Code, Codex and Gemini CLI take calls from their model's API, and show its texts to "
        "people: a call that is written in a text is lost. The arguments of a native call must be JSON as they are."
    ),
    parser=run,
)

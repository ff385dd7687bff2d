"""Windlass after its first fix: tool calls only in ```json fences, decoded as written."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._windlass import call_tools, fenced


def run(tracer: Tracer) -> None:
    call_tools(tracer, fenced(tracer.raw))


plugin = Described(
    name="windlass-strict",
    report="001",
    roots="tools",
    about=(
        "1. Takes every ```json fence (any case of the word) whose content starts with { and ends with } and holds no "
        'backtick. 2. Decodes each as written. 3. An object with a "tool" is a tool call; JSON without one is ignored '
        "silently; what does not decode, or has arguments that are no object, is one validation error for the agent. "
        "4. If one block is a call, the errors of all others are dropped.\n"
        "No such fence means that no tool was called, and no error. Differences from its report: a backtick "
        "anywhere inside the JSON hides the whole block silently, and arrays never match."
    ),
    parser=run,
)

"""Pydantic AI: the object in the first fence that holds one, else the whole response, validated as JSON in Rust."""

from __future__ import annotations

import re

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._cutting import choose_if_ok, whole
from webapp.parsing.span import Span

_FENCE = re.compile(r"```(?:\w+)?\r?\n(\{.*?\})\s*(?:\r?\n?```|\Z)", re.DOTALL)


def run(tracer: Tracer) -> None:
    raw = tracer.raw
    fence = None if raw.startswith("{") else _FENCE.search(raw)
    span = Span(*fence.span(1)) if fence else whole(raw)
    offers = "{" in raw or "[" in raw
    choose_if_ok(tracer, tracer.attempt("fenced" if fence else "whole", span, offers=offers))


plugin = Described(
    name="pydantic-ai",
    original="Rust",
    group=LIBRARIES,
    version=restated("2.68.0"),
    about=(
        "1. A response that begins with { is read whole. 2. Else the first fence whose line is followed at once by { "
        "gives the text, up to a } before its end. 3. Else the whole response. 4. Pydantic's validate_json, once: raw "
        "line feeds in strings, trailing commas and prose fail. What the output type asks for is not known here.\n"
        "Source: pydantic-ai-slim 2.68.0, pydantic_ai/_utils.py, strip_markdown_fences, and _output.py."
    ),
    parser=run,
)

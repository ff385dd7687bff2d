"""Pydantic AI: the object in the first fence that holds one, else the whole response, validated as JSON in Rust."""

from __future__ import annotations

import re

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._arguments import checked
from webapp.parsing.profiles._cutting import whole
from webapp.parsing.profiles._jiter import refusal
from webapp.parsing.span import Span

_FENCE = re.compile(r"```(?:\w+)?\r?\n(\{.*?\})\s*(?:\r?\n?```|\Z)", re.DOTALL)


def run(tracer: Tracer) -> None:
    raw = tracer.raw
    fence = None if raw.startswith("{") else _FENCE.search(raw)
    span = Span(*fence.span(1)) if fence else whole(raw)
    offers = "{" in raw or "[" in raw
    attempt = tracer.attempt("fenced" if fence else "whole", span, offers=offers)
    if attempt.ok:
        checked(tracer, attempt, [lambda _: refusal(span.of(raw))])


plugin = Described(
    name="pydantic-ai",
    original="Rust",
    group=LIBRARIES,
    version=restated("2.68.0-2"),
    about=(
        "1. A response that begins with { is read whole. 2. Else the first fence whose line is followed at once by { "
        "gives the text, up to a } before its end. 3. Else the whole response. 4. Pydantic's validate_json, once: raw "
        "line feeds in strings, trailing commas, prose, lone surrogates and more than 201 levels fail. "
        "What the output type asks for is not known here.\n"
        "Source: pydantic-ai-slim 2.68.0, pydantic_ai/_utils.py, strip_markdown_fences, and _output.py."
    ),
    parser=run,
)

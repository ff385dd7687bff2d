"""Parsers that people write by hand: plain decoding, cuts at fences and at braces."""

from __future__ import annotations

from webapp.parsing.edit import stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import BY_HAND, described
from webapp.parsing.profiles._steps import between, choose_if_ok, whole


@described("direct", BY_HAND)
def direct(tracer: Tracer) -> None:
    """Plain `json.loads` over the whole response, and nothing else.

    Decodes the whole response with Python's json.loads, once. White space around the JSON is allowed, anything else
    fails: it shows the result of a program that expects JSON only.
    """
    choose_if_ok(tracer, tracer.attempt("whole", whole(tracer.raw)))


@described("strip-fences", BY_HAND)
def strip_fences(tracer: Tracer) -> None:
    """Most common hand-written parser: strips white space and ``` fences around the response, then `json.loads`.

    1. Strips white space at both ends. 2. If the rest begins with ```json, or else with ```, cuts that off. 3. If it
    ends with ```, cuts that off. 4. Strips white space again and decodes what is left with json.loads, once. Prose
    before or after the fence, and any other info string, make it fail.
    """
    raw = tracer.raw
    start, end = stripped(raw)
    cut = start + next((len(fence) for fence in ("```json", "```") if raw.startswith(fence, start, end)), 0)
    if raw.endswith("```", cut, end):
        end -= 3
    span = stripped(raw, cut, end)
    choose_if_ok(tracer, tracer.attempt("fenced" if cut > start else "whole", span))


@described("first-to-last-brace", BY_HAND)
def first_to_last_brace(tracer: Tracer) -> None:
    """Common hand-written parser: `json.loads` of everything from the first `{` to the last `}`.

    Decodes, once, from the first { of the response to its last }. Two objects, a brace in the prose behind or before,
    and a list at the root that holds objects all make it fail or give less than what was meant.
    """
    span = between(tracer.raw, "{", "}")
    if span is None:
        tracer.reject("outermost", whole(tracer.raw), "no { with a } behind it")
    else:
        choose_if_ok(tracer, tracer.attempt("outermost", span))


@described("native", BY_HAND)
def native(tracer: Tracer) -> None:
    """A program that takes calls from its model's API alone and parses no text; a text that is JSON is shown as that.

    Agents such as Claude Code, Codex and Gemini CLI take calls from their model's API, and show its texts to people: a
    call that is written in a text is lost. The arguments of a native call must be JSON as they are.
    """
    choose_if_ok(tracer, tracer.attempt("whole", whole(tracer.raw), offers=False))


plugins = (direct, strip_fences, first_to_last_brace, native)

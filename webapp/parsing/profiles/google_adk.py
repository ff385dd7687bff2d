"""Google ADK's reading of arguments: four tries, each a little more lenient."""

from __future__ import annotations

import re
from collections.abc import Sequence

from webapp.parsing.edit import Edit, Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import ARGUMENTS, described
from webapp.parsing.profiles._steps import choose_if_ok, decode_other, empty, escapes, whole

_BARE_KEYS = re.compile(r"""'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|[{,]\s*([A-Za-z_][A-Za-z0-9_]*)(?=\s*:)""", re.DOTALL)
_CAUGHT = ("SyntaxError", "IndentationError", "TabError", "ValueError", "UnicodeEncodeError")


@described("google-adk", ARGUMENTS, revision=2)
def plugin(tracer: Tracer) -> None:
    """Google ADK over LiteLLM: JSON, else a Python literal, else with bare keys quoted, else without its fence.

    Reads the arguments of a native call of a model that LiteLLM serves. 1. No text is {}. 2. json.loads, else
    ast.literal_eval. 3. Both again with quotes round bare keys. 4. Of a text that begins and ends with ```, both
    again over what is between, less a word json, and once more with quotes round bare keys. Gemini's own calls come
    decoded and pass through no parser.

    Source: google-adk 2.13.0, google/adk/models/lite_llm.py, _parse_tool_call_arguments.
    """
    raw = tracer.raw
    if empty()(tracer):
        return
    for strategy, span in (("whole", whole(raw)), ("fenced", _fenced(raw))):
        if span and _has_decided(tracer, strategy, span, []):
            return
        if span and (edits := _quoted_keys(raw, span)) and _has_decided(tracer, strategy, span, edits):
            return


def _fenced(raw: str) -> Span | None:
    """What is between three ticks at both ends, less a word json in front, where that is anything."""
    start, end = stripped(raw)
    if end - start < 6 or not (raw.startswith("```", start, end) and raw.endswith("```", start, end)):
        return None
    span = stripped(raw, start + 3, end - 3)
    if raw[span.start : min(span.end, span.start + 4)].lower() == "json":
        span = stripped(raw, span.start + 4, span.end)
    return span if span.start < span.end else None


def _quoted_keys(raw: str, span: Span) -> list[Edit]:
    """The edits that put quotes round bare keys behind { or a comma, outside of strings."""
    matches = (match for match in _BARE_KEYS.finditer(raw, *span) if match[1])
    return [Edit("unquoted_key", Span(*match.span(1)), match[1], f'"{match[1]}"') for match in matches]


def _has_decided(tracer: Tracer, strategy: str, span: Span, edits: Sequence[Edit]) -> bool:
    """JSON, else a Python literal; decided too where an error escapes that the original does not catch."""
    attempt = tracer.attempt(strategy, span, edits)
    if escapes(attempt):
        return True
    if not attempt.ok:
        attempt = decode_other(tracer, "literal", span, "read as a Python literal", edits)
    return choose_if_ok(tracer, attempt) or not (attempt.reason or "").startswith(_CAUGHT)

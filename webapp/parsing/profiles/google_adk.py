"""Google ADK over LiteLLM: JSON, Python literals, bare keys and fences among a call's arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from webapp.parsing.edit import Edit, Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import ARGUMENTS
from webapp.parsing.profiles._steps import choose_if_ok, decode_other, empty, stepwise, whole

_KEYS = re.compile(
    r"""'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|[{,]\s*([A-Za-z_][A-Za-z0-9_]*)(?=\s*:)""",
    re.DOTALL,
)

_CAUGHT = ("SyntaxError", "IndentationError", "TabError", "ValueError", "UnicodeEncodeError")


def _plain(tracer: Tracer) -> bool:
    return _read(tracer, "whole", whole(tracer.raw))


def _quoted(tracer: Tracer) -> bool:
    edits = _quotes(tracer.raw, whole(tracer.raw))
    return bool(edits) and _read(tracer, "whole", whole(tracer.raw), edits)


def _fenced(tracer: Tracer) -> bool:
    """What is between three ticks at both ends, less a word json in front, as it is and with its keys quoted."""
    raw = tracer.raw
    start, end = stripped(raw)
    if end - start < 6 or not (raw.startswith("```", start, end) and raw.endswith("```", start, end)):
        return False
    span = stripped(raw, start + 3, end - 3)
    if raw[span.start : min(span.end, span.start + 4)].lower() == "json":
        span = stripped(raw, span.start + 4, span.end)
    if span.start == span.end:
        return False
    edits = _quotes(raw, span)
    return _read(tracer, "fenced", span) or (bool(edits) and _read(tracer, "fenced", span, edits))


def _quotes(raw: str, span: Span) -> list[Edit]:
    """The edits that put quotes round bare keys behind { or a comma, outside of strings."""
    matches = (match for match in _KEYS.finditer(raw, *span) if match[1])
    return [Edit("unquoted_key", Span(*match.span(1)), match[1], f'"{match[1]}"') for match in matches]


def _read(tracer: Tracer, strategy: str, span: Span, edits: Sequence[Edit] = ()) -> bool:
    """JSON, else a Python literal; decided too where an error escapes that the original does not catch."""
    attempt = tracer.attempt(strategy, span, edits)
    if attempt.error and attempt.error.type != "JSONDecodeError":
        return True
    if not attempt.ok:
        attempt = decode_other(tracer, "literal", span, "read as a Python literal", edits)
    return choose_if_ok(tracer, attempt) or not (attempt.reason or "").startswith(_CAUGHT)


plugin = stepwise("google-adk", ARGUMENTS, empty(), _plain, _quoted, _fenced, revision=2)("""
    Google ADK over LiteLLM: JSON, else a Python literal, else with bare keys quoted, else without its fence.

    Reads the arguments of a native call of a model that LiteLLM serves. 1. No text is {}. 2. json.loads, else
    ast.literal_eval. 3. Both again with quotes round bare keys. 4. Of a text that begins and ends with ```, both
    again over what is between, less a word json, and once more with quotes round bare keys. Gemini's own calls come
    decoded and pass through no parser.

    Source: google-adk 2.13.0, google/adk/models/lite_llm.py, _parse_tool_call_arguments.
""")

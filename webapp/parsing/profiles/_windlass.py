"""What the Windlass parsers share: fenced blocks become tool calls, at most one error a block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.span import Span
from webapp.parsing.trace import Attempt

FENCE = re.compile(r"```json\s*(\{[^`]*\})\s*```", re.DOTALL | re.IGNORECASE)

Mend = Callable[[str, Span], tuple[list[Edit], str] | None]


def blocks(raw: str) -> Iterator[Span]:
    """The spans that the strict pattern captures, in order."""
    for match in FENCE.finditer(raw):
        yield Span(*match.span(1))


def call_tools(tracer: Tracer, spans: Iterator[Span], mend: Mend | None = None) -> None:
    """Try each block as a tool call; a block that decodes to an object with "tool" is chosen."""
    for index, span in enumerate(spans):
        attempt = tracer.attempt("fenced", span)
        if not attempt.ok and mend and (mended := mend(tracer.raw, span)):
            edits, note = mended
            attempt = tracer.attempt("fenced", span, edits, note=note)
        if attempt.ok:
            _judge(tracer, attempt, index)


def _judge(tracer: Tracer, attempt: Attempt, index: int) -> None:
    value = attempt.value
    if not isinstance(value, dict) or "tool" not in value:
        tracer.amend(attempt, outcome="rejected", reason='decoded, but has no "tool": ignored silently')
        return
    if not isinstance(value.get("arguments", {}), dict):
        tracer.amend(attempt, outcome="failed", reason='"arguments" is not an object: a validation error')
        tracer.offered = True
        return
    note = f"prompt_tool_{index}: {value['tool']}"
    tracer.choose(tracer.amend(attempt, note=f"{attempt.note}; {note}" if attempt.note else note))

"""What the re-statements of libraries' parsers share: cuts at the response and attempts at what is left."""

from __future__ import annotations

import json
from typing import Any

from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.span import Span
from webapp.parsing.trace import Attempt


def whole(raw: str) -> Span:
    return Span(0, len(raw))


def between(raw: str, opener: str, closer: str) -> Span | None:
    """From the first `opener` to the last `closer` behind it, or None."""
    first, last = raw.find(opener), raw.rfind(closer)
    return Span(first, last + 1) if 0 <= first < last else None


def rewritten(tracer: Tracer, strategy: str, span: Span, value: Any, note: str) -> Attempt:
    """An attempt whose value another decoder than JSON's gave: one edit writes it as JSON, so that it can be shown."""
    text = json.dumps(value, ensure_ascii=False)
    old = span.of(tracer.raw)
    return tracer.attempt(strategy, span, [Edit(strategy, span, old, text)] if text != old else [], note=note)


def choose_if_ok(tracer: Tracer, attempt: Attempt) -> bool:
    """Make an attempt the result where it decoded; whether it did."""
    if attempt.ok:
        tracer.choose(attempt)
    return attempt.ok

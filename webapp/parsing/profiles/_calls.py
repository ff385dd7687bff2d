"""What the tool-call readers of model servers share: several calls in one response, all or none of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from webapp.parsing.engine import Tracer
from webapp.parsing.span import Span
from webapp.parsing.trace import Attempt

NO_UTF8 = "ValidationError: a text that is no UTF-8: no call is given"
SURROGATE = re.compile("[\ud800-\udfff]")
_GIVEN_UP = "a later call of the response does not decode: none is given"


def read_calls(tracer: Tracer, strategy: str, spans: Iterable[Span], needed: tuple[str, ...]) -> None:
    """Decode each span; the calls are the result where all decode to objects with one of each `needed` pair of keys.

    `needed` holds alternatives with "|" between them. The first that is no call makes the server answer with plain
    text: no call at all, and no error that a caller would see.
    """
    calls: list[Attempt] = []
    for span in spans:
        attempt = tracer.attempt(strategy, span)
        if attempt.ok and (reason := no_call(attempt.value, needed)):
            tracer.offered = True
            attempt = tracer.amend(attempt, outcome="failed", reason=reason)
        if not attempt.ok:
            for earlier in calls:
                tracer.amend(earlier, outcome="rejected", reason=_GIVEN_UP)
            return
        calls.append(attempt)
    for attempt in calls:
        tracer.choose(attempt)


def no_call(value: object, needed: tuple[str, ...]) -> str:
    """Why `value` is no call, in the words of the error that the server swallows; empty where it is one."""
    if not isinstance(value, dict):
        return f"TypeError: a call is looked for in something of type {type(value).__name__}"
    for names in needed:
        if not any(name in value for name in names.split("|")):
            return f"KeyError: {names.rpartition('|')[2]!r}"
    if not isinstance(value.get("name", ""), str):
        return "ValidationError: the name is no text"
    return ""

"""What the tool-call readers of model servers share: several calls in one response, all or none of them."""

from __future__ import annotations

from collections.abc import Iterable

from webapp.parsing.engine import Tracer
from webapp.parsing.span import Span
from webapp.parsing.trace import Attempt


def read_calls(tracer: Tracer, strategy: str, spans: Iterable[Span], needed: tuple[str, ...]) -> None:
    """Decode each span; the calls are the result where all decode to objects with one of each `needed` pair of keys.

    `needed` holds alternatives with "|" between them. The first that is no call makes the server answer with plain
    text: no call at all, and no error that a caller would see.
    """
    calls: list[Attempt] = []
    for span in spans:
        attempt = tracer.attempt(strategy, span)
        calls.append(attempt)
        if not attempt.ok:
            _give_up(tracer, calls[:-1])
            return
        reason = no_call(attempt.value, needed)
        if reason:
            tracer.offered = True
            calls[-1] = tracer.amend(attempt, outcome="failed", reason=reason)
            _give_up(tracer, calls[:-1])
            return
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


def _give_up(tracer: Tracer, calls: list[Attempt]) -> None:
    for attempt in calls:
        tracer.amend(attempt, outcome="rejected", reason="a later call of the response does not decode: none is given")

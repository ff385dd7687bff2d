"""What the tool-call readers of model servers share: several calls in one response, all or none of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._cutting import rewritten
from webapp.parsing.span import Span
from webapp.parsing.trace import Attempt

_GIVEN_UP = "a later call of the response does not decode: none is given"
NO_UTF8 = "ValidationError: a text that is no UTF-8: no call is given"


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


def pass_on(tracer: Tracer, calls: Iterable[tuple[str, Span]], given_up: str = "") -> None:
    """Calls whose arguments the server hands on as a text: each that decodes is a result, the others fail alone."""
    found = list(calls)
    if any(not is_utf8(f"{name}{span.of(tracer.raw)}") for name, span in found):
        given_up = NO_UTF8
    for name, span in found:
        if given_up:
            tracer.fail("tagged", span, given_up, note=f"calls {name}")
            continue
        attempt = tracer.attempt("tagged", span, note=f"calls {name}")
        if attempt.ok:
            tracer.choose(attempt)


def make(tracer: Tracer, calls: Iterable[tuple[Span, str, dict[str, Any]]]) -> None:
    """Calls whose arguments the server makes of what stands between tags."""
    for span, name, arguments in calls:
        value = {"name": name, "arguments": arguments}
        tracer.choose(rewritten(tracer, "derived", span, value, f"not JSON as written; calls {name}"))


def is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

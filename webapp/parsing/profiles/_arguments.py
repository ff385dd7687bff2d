"""The arguments of a native call as an SDK reads them: steps of a line each, until one of them has decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._cutting import rewritten, whole
from webapp.parsing.trace import Attempt

Step = Callable[[Tracer], bool]
"""Tries one reading of the whole text; whether that decided, be it with a value or with a refusal."""


def read_by(tracer: Tracer, *steps: Step) -> None:
    """Try each step in turn, until one has decided."""
    any(step(tracer) for step in steps)


def empty(spaces: str | None = "") -> Step:
    """No text, or only characters of `spaces` (white space where None), stands for no arguments: {}."""

    def step(tracer: Tracer) -> bool:
        if tracer.raw.strip(spaces):
            return False
        tracer.choose(rewritten(tracer, "empty_arguments", whole(tracer.raw), {}, "no text stands for no arguments"))
        return True

    return step


def loads(*checks: Callable[[Any], str], strict: bool = True, finite: bool = False) -> Step:
    """Decode the whole text; refused where one of `checks` says what is wrong with the value."""

    def step(tracer: Tracer) -> bool:
        attempt = tracer.attempt("whole", whole(tracer.raw), strict=strict, finite=finite)
        return attempt.ok and checked(tracer, attempt, checks)

    return step


def checked(tracer: Tracer, attempt: Attempt, checks: Sequence[Callable[[Any], str]]) -> bool:
    """Make what decoded the result, or refuse it in the words of the first check that fails; true."""
    reason = next(filter(None, (check(attempt.value) for check in checks)), "")
    if reason:
        tracer.offered = True
        tracer.amend(attempt, outcome="failed", reason=reason)
    else:
        tracer.choose(attempt)
    return True


def made(change: Callable[[Any], Any], note: str, *, strict: bool = True) -> Step:
    """Decode the whole text; where `change` makes another value of it, that is the result."""

    def step(tracer: Tracer) -> bool:
        attempt = tracer.attempt("whole", whole(tracer.raw), strict=strict)
        if attempt.ok and (value := change(attempt.value)) is not attempt.value:
            attempt = tracer.amend(attempt, outcome="rejected", reason=note)
            attempt = rewritten(tracer, "derived", whole(tracer.raw), value, note)
        return attempt.ok and checked(tracer, attempt, ())

    return step


def must_be_object(value: Any) -> str:
    return "" if isinstance(value, dict) else "ModelBehaviorError: expected a JSON object"


def no_prototype(value: Any) -> str:
    """What the Vercel AI SDK refuses: a key that would reach an object's prototype in JavaScript, at any depth."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            constructor = node.get("constructor")
            if "__proto__" in node or (isinstance(constructor, dict) and "prototype" in constructor):
                return "SyntaxError: Object contains forbidden prototype property"
            stack += node.values()
        elif isinstance(node, list):
            stack += node
    return ""

"""What a recorded parser returned or raised, held against what its decoders gave: the result, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Sequence

from webapp.capture.process import ParserFailure, ParserOutcome
from webapp.parsing import value_origin
from webapp.parsing.decode import Failure
from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer, parse
from webapp.parsing.recorded import PYDANTIC, record_calls
from webapp.parsing.span import Span, stripped
from webapp.parsing.trace import Attempt
from webapp.parsing.verdicts import JSON_SPACE
from webapp.visible import clipped

SWALLOWED = "swallowed"
"""strategy of an attempt that says that the parser caught an error and returned a value that no text gave"""
_QUOTED = 60  # characters of a value that a sentence shows


def record_outcome(tracer: Tracer, outcome: ParserOutcome) -> None:
    """The attempts, and which of them gave the value or why there is none.

    A parser that finds nothing where nothing offered itself has not failed, unless it hung or died.
    """
    attempts = record_calls(tracer, outcome)
    if not outcome.ok:
        _raised(tracer, outcome, attempts)
    elif outcome.no_json:
        tracer.fail("returned", _whole(tracer), outcome.no_json)
    else:
        _returned(tracer, outcome.value, attempts)
    may_be_prose = not tracer.chosen and not outcome.ended and not outcome.no_json
    if may_be_prose and parse(tracer.raw).verdict == "none":
        tracer.offered = False


def _whole(tracer: Tracer) -> Span:
    return Span(0, len(tracer.raw))


def _raised(tracer: Tracer, outcome: ParserOutcome, attempts: Sequence[Attempt]) -> None:
    error = outcome.error or ParserFailure("Exception", "", "")
    for attempt in attempts:
        if attempt.ok:
            tracer.amend(attempt, outcome="rejected", reason="decoded, and the parser raised all the same")
    if not attempts or not _is_of(attempts[-1], error):
        tracer.fail(outcome.ended or "raised", _whole(tracer), f"{error.type}: {error.said}")


def _is_of(attempt: Attempt, error: ParserFailure) -> bool:
    """Whether the exception that left the parser is the one that this attempt ended in."""
    if attempt.outcome != "failed":
        return False
    words = attempt.error.said if attempt.error else (attempt.reason or "").partition(": ")[2]
    return error.said == words or (attempt.strategy == PYDANTIC and words in error.said)


def _returned(tracer: Tracer, value: object, attempts: Sequence[Attempt]) -> None:
    """The newest attempt that gave the value is the result; else one from whose value the program made it.

    Of decoders that were not seen, what stands in the response itself counts; nothing needs no decoder.
    """
    canonical = value_origin.canonical(value)
    giving = [attempt for attempt in attempts if attempt.ok and value_origin.gives(tracer.raw, attempt, attempts)]
    for attempt in reversed(giving):
        if value_origin.canonical(attempt.value) == canonical:
            tracer.choose(attempt)
            return
    if not giving and (value is not None or not attempts):
        giving = _own_readings(tracer.raw)
    if origin := value_origin.origin(value, giving, attempts):
        _changed(tracer, value, origin)
    elif value_origin.says_nothing(tracer.raw, value, attempts):
        _swallowed(tracer, value, attempts)
    else:
        _made(tracer, value)


def _own_readings(raw: str) -> list[Attempt]:
    """What stands in the response as JSON, by Fencepost's own reading: of edits that a program made it knows none."""
    return [attempt for attempt in parse(raw).attempts if attempt.ok and not attempt.edits]


def _changed(tracer: Tracer, value: object, origin: Attempt) -> None:
    """The value of an attempt as the program gave it on: with defaults, other types, wrapped or a part of it."""
    same = value_origin.canonical(origin.value) == value_origin.canonical(value)
    note = "read by a decoder that was not seen" if same else value_origin.difference(origin.value, value)
    tracer.choose(tracer.record("returned", origin.span, value, origin.edits, note=note))


def _made(tracer: Tracer, value: object) -> None:
    span = stripped(tracer.raw, 0, len(tracer.raw), JSON_SPACE)
    old, new = span.of(tracer.raw), json.dumps(value)
    edits = [Edit("returned", span, old, new)] if old != new else []
    note = "read by a lenient decoder or by the parser's own code: what it changed was not seen"
    tracer.choose(tracer.record("returned", span, value, edits, note=note))


def _swallowed(tracer: Tracer, value: object, attempts: Sequence[Attempt]) -> None:
    """The failed attempt whose error the parser caught, once more as what it made of it."""
    shown = clipped(json.dumps(value), _QUOTED)
    caught = next((attempt for attempt in reversed(attempts) if attempt.outcome == "failed"), None)
    if caught is None:
        tracer.fail(SWALLOWED, _whole(tracer), f"the parser returned {shown}, which no decode of this text gave")
        return
    reason = f"the parser caught the error and returned {shown}"
    if caught.error is None:
        tracer.fail(SWALLOWED, caught.span, f"{reason}: {caught.reason}", caught.edits, site=caught.site)
        return
    nothing = Failure(caught.error.type, caught.error.message, 0, caught.error.said)
    again = tracer.fault(SWALLOWED, caught.span, caught.edits, nothing, site=caught.site)
    tracer.amend(again, error=caught.error, reason=reason)

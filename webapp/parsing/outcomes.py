"""What a recorded parser handed to decoders, and what it returned or raised: the attempts, and the result if any.

A parser runs in a process of its own, or as a block of code of a running program or test (`capture`).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from webapp.capture import hooks
from webapp.capture.alignment import Replacement
from webapp.capture.hooks import RECORDER
from webapp.capture.locate import Located, locate
from webapp.capture.plain_values import awaited, failure_of, no_json, plain
from webapp.capture.process import DecoderCall, ParserFailure, ParserOutcome
from webapp.parsing import decode, verdicts
from webapp.parsing.decode import Failure
from webapp.parsing.edit import Edit, Span, apply, place, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.trace import Attempt, Fault, Site, Trace
from webapp.visible import clipped

PYDANTIC = "pydantic.validate_json"
"""its errors say the first of what is wrong, its exception all of it"""


_NOTHING: Any = object()
_one_at_a_time = threading.Lock()


def record_calls(tracer: Tracer, outcome: ParserOutcome) -> list[Attempt]:
    """An attempt for each text that was handed to a decoder."""
    if outcome.dropped:
        tracer.exhausted = True
    if outcome.attempts is not None:
        return [told_attempt(tracer, attempt) for attempt in outcome.attempts]
    places = locate(tracer.raw, outcome.calls)
    if any(located.exhausted for located in places):
        tracer.exhausted = True
    return [_of_call(tracer, located) for located in places]


def told_attempt(tracer: Tracer, report: dict[str, Any]) -> Attempt:
    """An attempt that a program in another language tells of; where its edits do not fit, it is said to be wrong."""
    everything = Span(0, len(tracer.raw))
    strategy = str(report.get("strategy") or "attempt")
    try:
        span = Span(*map(int, report["span"]))
        edits = [_told_edit(tracer.raw, edit) for edit in report.get("edits") or ()]
        apply(tracer.raw, span, edits)
        if not 0 <= span.start <= span.end <= everything.end:
            raise ValueError(f"{span.start}–{span.end} is not a span of the response")
    except (AttributeError, KeyError, TypeError, ValueError) as wrong:
        return tracer.fail(strategy, everything, f"its program tells of an attempt that cannot be: {wrong}")
    note = None if report.get("note") is None else str(report["note"])
    if report.get("outcome") == "rejected":
        return tracer.reject(strategy, span, str(report.get("reason") or "no reason given"), note=note)
    error = report.get("error")
    if report.get("outcome") != "failed" and error is None:
        return tracer.attempt(strategy, span, edits, note=note)
    if not isinstance(error, dict):
        error = {"message": error or report.get("reason") or "failed"}
    at, message = error.get("at"), str(error.get("message"))
    failed = tracer.fail(strategy, span, message, edits, note=note)
    if not isinstance(at, int) or not 0 <= at <= len(tracer.raw):
        return failed
    fault = Fault(str(error.get("type") or "Error"), message, at, *place(tracer.raw, at), message)
    return tracer.amend(failed, reason=None, error=fault)


def _told_edit(raw: str, edit: dict[str, Any]) -> Edit:
    span = Span(*map(int, edit["span"]))
    return Edit(str(edit.get("repair") or "replaced"), span, span.of(raw), str(edit.get("new") or ""))


def _of_call(tracer: Tracer, located: Located) -> Attempt:
    call = located.call
    span, edits, note = _located(tracer.raw, located)
    if call.count > 1:
        note = "; ".join(filter(None, (note, f"the last of {call.count:,} calls like it from this line")))
    site = Site.from_dict(call.site) if call.site else None
    if call.ok:
        return tracer.record(call.sink, span, call.value, edits, note=note, site=site)
    error = call.error or ParserFailure("Exception", "", "")
    if error.position is None:
        return tracer.fail(call.sink, span, f"{error.type}: {error.said}", edits, note=note, site=site)
    failure = decode.Failure(error.type, error.message, error.position, error.said)
    return tracer.fault(call.sink, span, edits, failure, note=note, site=site)


def _located(raw: str, located: Located) -> tuple[Span, list[Edit], str | None]:
    """Span and edits that give exactly the text that was decoded, and in words what is not plain about its place.

    What is derived or unlocated is one edit by that name, which stands for the whole of where it comes from.
    """
    text = located.call.text
    if located.how in ("derived", "unlocated") or located.span is None:
        span = Span(*(located.span or (0, len(raw))))
        edits = [Edit(located.how, span, span.of(raw), text)] if span.of(raw) != text else []
        if located.source is not None:
            return span, edits, f"derived: made of what attempt {located.source + 1} gave"
        return span, edits, f"unlocated: {_why_unlocated(located)}"
    edits = [_replacement(raw, edit) for edit in located.edits]
    note = "this text is in several places of the response; one of them is shown"
    return Span(*located.span), edits, note if located.how == "ambiguous" else None


def _why_unlocated(located: Located) -> str:
    if located.exhausted:
        return "the budget ended before this text was found in the response"
    return "this text is nowhere in the response" if located.call.text else "an empty text was decoded"


def _replacement(raw: str, edit: Replacement) -> Edit:
    start, end, new = edit
    name = "replaced" if new and end > start else "inserted" if new else "removed"
    return Edit(name, Span(start, end), raw[start:end], new)


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
    if may_be_prose and tracer.own_reading().verdict == "none":
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
    canonical = verdicts.canonical(value)
    giving = [attempt for attempt in attempts if attempt.ok and verdicts.gives(tracer.raw, attempt, attempts)]
    for attempt in reversed(giving):
        if verdicts.canonical(attempt.value) == canonical:
            tracer.choose(attempt)
            return
    if not giving and (value is not None or not attempts):
        giving = _own_readings(tracer)
    if origin := verdicts.origin(value, giving, attempts):
        _changed(tracer, value, origin)
    elif verdicts.says_nothing(tracer.raw, value, attempts):
        _swallowed(tracer, value, attempts)
    else:
        _made(tracer, value)


def _own_readings(tracer: Tracer) -> list[Attempt]:
    """What stands in the response as JSON, by Fencepost's own reading: of edits that a program made it knows none."""
    return [attempt for attempt in tracer.own_reading().attempts if attempt.ok and not attempt.edits]


def _changed(tracer: Tracer, value: object, origin: Attempt) -> None:
    """The value of an attempt as the program gave it on: with defaults, other types, wrapped or a part of it."""
    same = verdicts.canonical(origin.value) == verdicts.canonical(value)
    note = "read by a decoder that was not seen" if same else verdicts.difference(origin.value, value)
    tracer.choose(tracer.record("returned", origin.span, value, origin.edits, note=note))


def _made(tracer: Tracer, value: object) -> None:
    span = stripped(tracer.raw, 0, len(tracer.raw), verdicts.JSON_SPACE)
    old, new = span.of(tracer.raw), json.dumps(value)
    edits = [Edit("returned", span, old, new)] if old != new else []
    note = "read by a lenient decoder or by the parser's own code: what it changed was not seen"
    tracer.choose(tracer.record("returned", span, value, edits, note=note))


def _swallowed(tracer: Tracer, value: object, attempts: Sequence[Attempt]) -> None:
    """The failed attempt whose error the parser caught, once more as what it made of it."""
    quoted = clipped(json.dumps(value), _QUOTED)
    caught = next((attempt for attempt in reversed(attempts) if attempt.outcome == "failed"), None)
    if caught is None:
        tracer.fail(SWALLOWED, _whole(tracer), f"the parser returned {quoted}, which no decode of this text gave")
        return
    reason = f"the parser caught the error and returned {quoted}"
    if caught.error is None:
        tracer.fail(SWALLOWED, caught.span, f"{reason}: {caught.reason}", caught.edits, site=caught.site)
        return
    nothing = Failure(caught.error.type, caught.error.message, 0, caught.error.said)
    again = tracer.fault(SWALLOWED, caught.span, caught.edits, nothing, site=caught.site)
    tracer.amend(again, error=caught.error, reason=reason)


class capture:  # noqa: N801 — it is used like a function
    """Records what a block of code hands to decoders while it parses `raw`; all threads of the process count.

        with capture(raw) as seen:
            seen.value = my_parser(raw)
        print(seen.trace.verdict, seen.trace.attempts)

    `trace` is there once the block is left. Its result is the attempt that gave `value`; where no value is set, the
    last one that decoded. What the block raises is in the trace and goes on. Raises `RuntimeError` where another
    capture of this process has not ended.
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.value: Any = _NOTHING
        self._trace: Trace | None = None
        hooks.install()

    @property
    def trace(self) -> Trace:
        if self._trace is None:
            raise RuntimeError("the trace is there once the block of this capture is left")
        return self._trace

    def __enter__(self) -> capture:
        if not _one_at_a_time.acquire(blocking=False):
            raise RuntimeError("another capture of this process has not ended: one response at a time")
        RECORDER.start(self.raw)
        self._started = time.perf_counter_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        microseconds = (time.perf_counter_ns() - self._started) // 1000
        calls = tuple(DecoderCall.from_dict(call | {"value": plain(call["value"])}) for call in RECORDER.stop())
        dropped = RECORDER.dropped
        _one_at_a_time.release()
        failure = ParserFailure(**failure_of(error)) if error else None
        value = None if self.value is _NOTHING else plain(self.value)
        words = None if self.value is _NOTHING else no_json(self.value)
        outcome = ParserOutcome(failure is None, value, failure, calls, dropped, microseconds, no_json=words)
        self._trace = trace_of(self.raw, outcome, returned=error is not None or self.value is not _NOTHING)


def run(parser: Callable[[str], Any], raw: str) -> Trace:
    """The trace of one call of `parser`; what it raises is in the trace."""
    captured = capture(raw)
    with suppress(Exception), captured:
        captured.value = awaited(parser(raw))
    return captured.trace


def trace_of(raw: str, outcome: ParserOutcome, *, returned: bool = True) -> Trace:
    """An outcome as a trace; where nobody said what was `returned`, the last attempt that decoded is the result."""
    tracer = Tracer(raw)
    if returned:
        record_outcome(tracer, outcome)
    elif last := [attempt for attempt in record_calls(tracer, outcome) if attempt.ok][-1:]:
        tracer.choose(last[0])
    return tracer.trace("capture", "", outcome.microseconds)

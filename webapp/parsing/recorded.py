"""What a recorded parser handed to decoders, as attempts of a trace: with place, edits and call site."""

from __future__ import annotations

import json
from typing import Any

from webapp.capture.alignment import Replacement
from webapp.capture.locate import Located, locate
from webapp.capture.process import ParserFailure, ParserOutcome
from webapp.parsing import decode
from webapp.parsing.edit import Edit, apply
from webapp.parsing.engine import Tracer
from webapp.parsing.span import Span, place, stripped
from webapp.parsing.trace import Attempt, Fault, Site
from webapp.parsing.verdicts import JSON_SPACE

PYDANTIC = "pydantic.validate_json"
"""its errors say the first of what is wrong, its exception all of it"""


def record_calls(tracer: Tracer, outcome: ParserOutcome) -> list[Attempt]:
    """An attempt for each text that was handed to a decoder."""
    if outcome.dropped:
        tracer.exhausted = True
    if outcome.attempts is not None:
        return [told_attempt(tracer, attempt) for attempt in outcome.attempts]
    places = locate(tracer.raw, outcome.calls)
    if any(located.exhausted for located in places):
        tracer.exhausted = True
    return [_attempt(tracer, located) for located in places]


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


def record_outcome(tracer: Tracer, outcome: ParserOutcome) -> None:
    """The attempts, and which of them gave the value or why there is none."""
    attempts = record_calls(tracer, outcome)
    if not outcome.ok:
        _raised(tracer, outcome, attempts)
    else:
        _returned(tracer, outcome.value, attempts)


def _raised(tracer: Tracer, outcome: ParserOutcome, attempts: list[Attempt]) -> None:
    error = outcome.error or ParserFailure("Exception", "", "")
    for attempt in attempts:
        if attempt.ok:
            tracer.amend(attempt, outcome="rejected", reason="decoded, and the parser raised all the same")
    if not attempts or not _is_of(attempts[-1], error):
        tracer.fail("raised", Span(0, len(tracer.raw)), f"{error.type}: {error.said}")


def _is_of(attempt: Attempt, error: ParserFailure) -> bool:
    """Whether the exception that left the parser is the one that this attempt ended in."""
    if attempt.outcome != "failed":
        return False
    words = attempt.error.said if attempt.error else (attempt.reason or "").partition(": ")[2]
    return error.said == words or (attempt.strategy == PYDANTIC and words in error.said)


def _returned(tracer: Tracer, value: Any, attempts: list[Attempt]) -> None:
    """The newest attempt that gave the value that was returned is the result; else it is the parser's own making.

    A value that no decoder gave was made of the newest one that did, or of the response by a decoder that was not seen.
    """
    decoded = [attempt for attempt in attempts if attempt.ok]
    canonical = _canonical(value)
    for attempt in reversed(decoded):
        if _canonical(attempt.value) == canonical:
            tracer.choose(attempt)
            return
    everything = stripped(tracer.raw, characters=JSON_SPACE)
    if value is None:
        tracer.fail("returned", everything, "the parser returned None, which it decoded nowhere")
        return
    span = decoded[-1].span if decoded else everything
    edit = Edit("returned", span, span.of(tracer.raw), json.dumps(value))
    attempt = tracer.attempt("returned", span, [edit], note="none of its recorded decoders gave this value")
    if attempt.ok:
        tracer.choose(attempt)


def _attempt(tracer: Tracer, located: Located) -> Attempt:
    call = located.call
    span, edits, note = _place(tracer.raw, located)
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


def _place(raw: str, located: Located) -> tuple[Span, list[Edit], str | None]:
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
    edits = [_edit(raw, edit) for edit in located.edits]
    note = "this text is in several places of the response; one of them is shown"
    return Span(*located.span), edits, note if located.how == "ambiguous" else None


def _why_unlocated(located: Located) -> str:
    if located.exhausted:
        return "the budget ended before this text was found in the response"
    return "this text is nowhere in the response" if located.call.text else "an empty text was decoded"


def _edit(raw: str, edit: Replacement) -> Edit:
    start, end, new = edit
    name = "replaced" if new and end > start else "inserted" if new else "removed"
    return Edit(name, Span(start, end), raw[start:end], new)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)

"""What a recorded parser handed to decoders, as attempts of a trace: with place, edits and call site."""

from __future__ import annotations

from typing import Any

from webapp.capture.alignment import Replacement
from webapp.capture.locate import Located, locate
from webapp.capture.process import ParserFailure, ParserOutcome
from webapp.parsing import decode
from webapp.parsing.edit import Edit, apply
from webapp.parsing.engine import Tracer
from webapp.parsing.span import Span, place
from webapp.parsing.trace import Attempt, Fault, Site

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

"""The Fire Circle parsers: one cut at the response, one decoding, four required keys (report 000)."""

from __future__ import annotations

import json
import re
from typing import Any

from webapp.parsing.edit import Edit, Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._steps import Parser, balanced, choose_if_ok, refuse, whole
from webapp.parsing.trace import Attempt

LABELS = ("```json", "```python", "```")
REQUIRED = ("truth", "indeterminacy", "falsehood", "reasoning")
NUMBERS = REQUIRED[:3]
_GREP = {name: re.compile(rf"{name}[:\s]+([\d.]+)", re.IGNORECASE) for name in NUMBERS}
_PLAIN_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,15})(?:\.[0-9]+)?")

_ZOMBIE = "Text extraction failed: the model becomes a zombie and is left out of later rounds"
_GREPPED = "Text extraction successful: three numbers out of the text; the reasoning becomes its first 500 characters"


def read(tracer: Tracer) -> Attempt:
    """The one attempt that the program makes; chosen where it decodes and has the required keys."""
    raw, notes = tracer.raw, list[str]()
    strategy, span = "whole", stripped(raw)
    if label := next((label for label in LABELS if raw.find(label, *span) >= 0), ""):
        strategy, start = "fenced", raw.find(label, *span) + len(label)
        end = raw.find("```", start, span.end)
        if end < 0 and label != "```":
            lost = Span(start, span.end)
            return tracer.fail(strategy, lost, "ValueError: substring not found", note=f"no fence closes {label}")
        notes += ["no closing fence: all that follows"] if end < 0 else []
        span = stripped(raw, start, end if end >= 0 else span.end)
    span, edits = _braces(raw, span, notes)
    attempt = tracer.attempt(strategy, span, edits, note="; ".join(notes) or None, strict=False)
    if attempt.ok and (reason := _missing(attempt.value)):
        attempt = refuse(tracer, attempt, reason)
    choose_if_ok(tracer, attempt)
    return attempt


def _missing(value: Any) -> str | None:
    """Why the program takes no evaluation out of a value: each field is looked for in it, also in a list or a text."""
    try:
        for name in REQUIRED:
            if name not in value:
                return f"ValueError: Missing required field: {name}"
        for name in NUMBERS:
            float(value[name])
    except (TypeError, ValueError, OverflowError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def _braces(raw: str, span: Span, notes: list[str]) -> tuple[Span, list[Edit]]:
    """A leading `{{` loses one brace; whether or not it was there, a closing `}}` loses one too.

    Then what follows the brace that balances the first one is cut off; braces inside strings count.
    """
    (start, end), edits = span, list[Edit]()
    if raw.startswith("{{", start, end):
        edits.append(Edit("double_brace", Span(start, start + 1), "{", ""))
        notes.append("{{ loses a brace")
        start += 1
    if raw.endswith("}}", start, end):
        end -= 1
        edits.append(Edit("double_brace", Span(end, end + 1), "}", ""))
        notes.append("}} loses a brace")
    first = next(balanced(raw, start, end), None) if raw.startswith("{", start, end) else None
    if first and first.end < end:
        notes.append(f"cut after the brace that balances the first: {end - first.end} characters dropped")
        return Span(span.start, first.end), [edit for edit in edits if edit.span.end <= first.end]
    return span, edits


def gives_up(tracer: Tracer, attempt: Attempt, then: str) -> None:
    """Note on the failed attempt what the program logs of it, and what follows."""
    message = attempt.error.said if attempt.error else attempt.reason
    note = f"Unparseable response from {{model}}: {message}; {then}"
    tracer.amend(attempt, note=f"{attempt.note}; {note}" if attempt.note else note)


def grep(tracer: Tracer) -> None:
    """The resilient mode's last resort: three numbers behind their names, anywhere in the response.

    The edits turn what lies from the first name to the last number into an object of the three.
    """
    everything = whole(tracer.raw)
    matches = {name: match for name in NUMBERS if (match := _GREP[name].search(tracer.raw))}
    missing = [name for name in NUMBERS if name not in matches]
    if missing:
        tracer.fail("grep", everything, f"no number follows {', '.join(missing)}", note=_ZOMBIE)
        return
    try:
        numbers = {name: float(match[1]) for name, match in matches.items()}
    except ValueError as error:
        tracer.fail("grep", everything, f"ValueError: {error}", note=_ZOMBIE)
        return
    span, edits = _object(tracer.raw, matches, numbers)
    tracer.choose(tracer.attempt("grep", span, edits, note=_GREPPED))


def _object(raw: str, matches: dict[str, re.Match[str]], numbers: dict[str, float]) -> tuple[Span, list[Edit]]:
    ordered = sorted(matches, key=lambda name: matches[name].start())
    at = start = matches[ordered[0]].start()
    edits = []
    for index, name in enumerate(ordered):
        number = Span(*matches[name].span(1))
        edits.append(
            Edit("grep", Span(at, number.start), raw[at : number.start], f'{", " if index else "{"}"{name}": ')
        )
        if not _PLAIN_NUMBER.fullmatch(number.of(raw)):
            edits.append(Edit("grep", number, number.of(raw), json.dumps(numbers[name])))
        at = number.end
    edits.append(Edit("grep", Span(at, at), "", "}"))
    return Span(start, at), edits


def evaluation(resilient: bool = False) -> Parser:
    """Makes the program in its mode resilient, which greps where it fails, or strict, which raises."""

    def parser(tracer: Tracer) -> None:
        attempt = read(tracer)
        if not tracer.chosen and resilient:
            gives_up(tracer, attempt, "attempting text extraction fallback")
            grep(tracer)
        elif not tracer.chosen:
            gives_up(tracer, attempt, "raises, and the whole circle fails")

    return parser

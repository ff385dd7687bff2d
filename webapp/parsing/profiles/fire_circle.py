"""The Fire Circle parsers: one cut at the response, one decoding, four required keys (report 000)."""

from __future__ import annotations

import json
import re
from typing import Any

from webapp.parsing.edit import Edit, Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import described
from webapp.parsing.profiles._steps import balanced, choose_if_ok, refuse, whole
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


STEPS = (
    "1. Strips white space. 2. Takes what follows the first ```json, else the first ```python, else the first ```, up "
    "to the next ```, stripped. 3. A leading {{ loses one {. 4. Whether or not that was so, a text that ends in }} "
    "loses one }. 5. If it starts with {, cuts after the brace that balances the first; braces inside strings count. "
    "6. Decodes, with control characters allowed in strings. 7. Requires truth, indeterminacy, falsehood, reasoning. "
)
DEPARTS = (
    "Differences from its report: a missing closing fence is forgiven to the unlabelled fence only; the "
    "labelled ones raise ValueError. Step 4 breaks valid JSON that ends in }}, as every object "
    "does that ends with an object. "
    "Prose before unfenced JSON fails, since nothing looks for the first {. The program then turns the three values "
    "into numbers, which may fail too."
)


@described(
    "fire-circle",
    version="2",
    text=f"""A dialogue's evaluations, mode resilient: fence, double braces, brace counting, and finally numbers in the
    text.

    {STEPS}8. If any of that fails, looks for truth, indeterminacy and falsehood in the response, each with
    colons or white space and then a number behind it; all three make a value. 9. Else the model becomes a
    zombie: it is left out of later rounds, and the circle goes on while enough models are left.

    {DEPARTS} In step 8 "truth": 0.7 never matches, since a quote follows the word.""",
    report="000",
)
def fire_circle(tracer: Tracer) -> None:
    attempt = read(tracer)
    if not tracer.chosen:
        gives_up(tracer, attempt, "attempting text extraction fallback")
        grep(tracer)


@described("fire-circle-before", report="000")
def fire_circle_before(tracer: Tracer) -> None:
    """A dialogue's evaluations before the fix: a fence is stripped only if it is the whole response.

    1. Strips white space. 2. If the response starts with ```json, ```python or ``` and ends with ```, strips
    both. 3. Decodes what is left, as json.loads does. So prose before the fence or after the JSON fails, which
    is what the report set out to mend. The required keys of the later versions are not checked here.
    """
    everything = stripped(tracer.raw)
    span = _inside(tracer.raw, everything)
    choose_if_ok(tracer, tracer.attempt("fenced" if span != everything else "whole", span))


def _inside(raw: str, span: Span) -> Span:
    label = next((label for label in LABELS if raw.startswith(label, *span)), None)
    if label is None or span.end - span.start < 6 or not raw.endswith("```", *span):
        return span
    return stripped(raw, span.start + len(label), max(span.start + len(label), span.end - 3))


@described(
    "fire-circle-strict",
    version="2",
    text=f"""A dialogue's evaluations, mode strict: as fire-circle, but the first failure fails the whole circle.

    {STEPS}8. If any of that fails, raises: the whole circle fails, with all its models.

    {DEPARTS}""",
    report="000",
)
def fire_circle_strict(tracer: Tracer) -> None:
    attempt = read(tracer)
    if not tracer.chosen:
        gives_up(tracer, attempt, "raises, and the whole circle fails")


plugins = (fire_circle, fire_circle_before, fire_circle_strict)

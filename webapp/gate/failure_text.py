"""A response that was read otherwise than meant, drawn in plain text: raw text, caret, attempts, edits, values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from webapp import jsontext
from webapp.exports import textmarks
from webapp.gate import differences
from webapp.gate.judging import OUTCOMES, Judged
from webapp.parsing import Trace, words
from webapp.visible import visible

LONGEST_VALUE = 2_000
MOST_ATTEMPTS = 20
MOST_EDITS = 20


def drawn(raw: str, trace: Trace, meant: Sequence[Any], judged: Judged) -> str:
    """What a failing test prints; every line is safe for a terminal."""
    return "\n".join(_lines(raw, trace, meant, judged))


def _lines(raw: str, trace: Trace, meant: Sequence[Any], judged: Judged) -> Iterator[str]:
    yield f"{OUTCOMES[judged.outcome]} ({trace.profile} {trace.version}: {words.trace_sentence(trace)})"
    yield ""
    yield textmarks.marked_text(raw, trace)
    yield ""
    yield from _attempts(raw, trace)
    yield ""
    yield from _values("expected", meant)
    yield from _values("got", trace.values)
    if meant and trace.values and (difference := differences.first(meant, trace.values)):
        yield f"first difference {visible(difference.where)}:"
        yield f"  expected {_side(difference.a, difference.missing == 'a')}"
        yield f"  got      {_side(difference.b, difference.missing == 'b')}"


def _attempts(raw: str, trace: Trace) -> Iterator[str]:
    if not trace.attempts:
        yield "no attempt: the text contains no candidate for JSON"
    for index, attempt in enumerate(trace.attempts[:MOST_ATTEMPTS]):
        sentence = words.attempt_sentence(attempt, index in trace.chosen)
        yield visible(f"attempt {index + 1}, {attempt.strategy} {attempt.span.start}–{attempt.span.end}: {sentence}")
        for edit in attempt.edits[:MOST_EDITS]:
            yield visible(f"  {words.edit_sentence(raw, edit)}")
        if len(attempt.edits) > MOST_EDITS:
            yield f"  and {len(attempt.edits) - MOST_EDITS} more edits"
    if len(trace.attempts) > MOST_ATTEMPTS:
        yield f"and {len(trace.attempts) - MOST_ATTEMPTS} more attempts"


def _values(name: str, values: Sequence[Any]) -> Iterator[str]:
    if not values:
        yield f"{name}: no JSON" if name == "expected" else f"{name}: no value"
    for value in values:
        yield f"{name}: {_side(value, False)}"


def _side(value: Any, is_missing: bool) -> str:
    if is_missing:
        return "nothing there"
    try:
        text = jsontext.dumps(value)
    except RecursionError:
        return "a value nested too deep to show"
    more = len(text) - LONGEST_VALUE
    return text if more <= 0 else f"{text[:LONGEST_VALUE]} … {more:,} characters more"

"""JavaScript's JSON.parse and white space, told by Python's decoder: for parsers that were written in TypeScript."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.parsing.decode import decode
from webapp.parsing.edit import Edit, apply, to_raw
from webapp.parsing.engine import Tracer
from webapp.parsing.span import Span, place
from webapp.parsing.trace import Attempt, Fault

# What `\s` matches in JavaScript (ECMA-262, WhiteSpace and LineTerminator); Python's differs in six characters.
_POINTS = (*range(9, 14), 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF)
WHITE = "".join(map(chr, _POINTS))


def json_parse(
    tracer: Tracer, strategy: str, span: Span, edits: Sequence[Edit] = (), *, note: str | None = None
) -> Attempt:
    """An attempt as JSON.parse decodes: Python's decoder and words, but NaN, Infinity and -Infinity are refused.

    The error of a refused constant is the one that `json` gives for any other unknown word at that place.
    """
    attempt = tracer.attempt(strategy, span, edits, note=note)
    if not attempt.ok:
        return attempt
    text = apply(tracer.raw, span, edits)
    if "NaN" not in text and "Infinity" not in text:
        return attempt
    # Harmless inside strings, an unknown word of the same length outside of them.
    failure = decode(text.replace("NaN", "nAN").replace("Infinity", "iNFINITY")).failure
    if failure is None:
        return attempt
    at = to_raw(span, attempt.edits, failure.at)
    error = Fault(failure.type, failure.message, at, *place(tracer.raw, at), failure.said)
    tracer.offered = True
    reason = "JSON.parse knows no NaN and no Infinity"
    return tracer.amend(attempt, outcome="failed", reason=reason, error=error, value=None)

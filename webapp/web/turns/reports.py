"""A response as text to hand on: Markdown for a bug report or a model, and a test case in the form of `tests/cases`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from flask import render_template

from webapp import jsontext
from webapp.fitting import Misfit
from webapp.parsing import Trace, words
from webapp.parsing.edit import place
from webapp.visible import SPECIAL, glyph, with_signs

RAW_LENGTH = 60_000
"""Code points of raw text in a report; of a longer one both ends."""
LISTED = 50


def markdown(
    raw: str,
    trace: Trace,
    facts: Sequence[tuple[str, str]],
    traces: Mapping[str, Trace] | None = None,
    misfits: Sequence[Misfit] = (),
) -> str:
    """The whole story: where it comes from, the raw text in a fence, every attempt, the values, other profiles."""
    return render_template(
        "turns/report.md",
        raw=raw,
        trace=trace,
        facts=facts,
        others={name: result for name, result in (traces or {}).items() if name != trace.profile},
        misfits=misfits,
        shown=with_signs(_shortened(raw)),
        special=_special(raw),
        values=[_shortened(jsontext.pretty(jsontext.marked(value))) for value in trace.values[:LISTED]],
        listed=LISTED,
        words=words,
    )


def case(raw: str, trace: Trace, expected: Sequence[Any] | None = None) -> str:
    """One case: title, raw text, values, what was done. `expected` stands for the values that a person expects.

    A repaired response gives its edits, as the files named after repairs hold them, every other its verdict.
    """
    plain = "." not in raw.split("\n") and not SPECIAL.search(raw)
    text = raw if plain else raw.encode("unicode_escape").decode("ascii")
    values = trace.values if expected is None else expected
    edits = [f"{edit.repair}@{edit.span.start}-{edit.span.end}" for edit in words.chosen_edits(trace)]
    outcome = edits or [trace.verdict]
    outcome = ["none"] if expected is not None and not expected else outcome
    lines = [
        "plain" if plain else "escaped",
        ".",
        "\\x2e" if text == "." else text,
        ".",
        *(json.dumps(jsontext.marked(value)) for value in values),
        ".",
        " ".join(outcome + ["truncated"] * trace.truncated),
    ]
    return "\n".join(lines) + "\n"


def case_file(trace: Trace) -> str:
    """The file of `tests/cases` in which the case would stand."""
    edits = words.chosen_edits(trace)
    return f"{edits[0].repair}.md" if edits else "responses.md"


def _shortened(text: str) -> str:
    if len(text) <= RAW_LENGTH:
        return text
    half = RAW_LENGTH // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n{text[-half:]}"


def _special(raw: str) -> str:
    places = []
    for match in islice(SPECIAL.finditer(raw[:RAW_LENGTH]), LISTED):
        line, column = place(raw, match.start())
        places.append(f"{glyph(match[0]).name} at line {line}, column {column}")
    return ", ".join(places) + (" and more" if len(places) == LISTED else "")

"""A trace is only read back beside the text that it is of."""

from __future__ import annotations

from typing import Any

import pytest

from webapp.parsing import parse, profiles, words
from webapp.parsing.trace import UNFIT, misfit, read_stored

RAW = "Sure:\n{'tool': 'run', 'n': 1,}}\nand {x}"


@pytest.mark.parametrize("name", profiles())
def test_every_profiles_trace_fits_its_text(name: str) -> None:
    for raw in (RAW, "", "{}", "[1, 2", "no JSON", '{"a": "\ud800"}', "```json\n{a: 1}\n```"):
        trace = parse(raw, name)
        assert misfit(raw, trace.as_dict()) is None
        assert read_stored(raw, trace.as_dict()) == trace


def with_edit(**change: Any) -> dict[str, Any]:
    document = parse(RAW, "fencepost").as_dict()
    attempt = next(attempt for attempt in document["attempts"] if attempt["edits"])
    attempt["edits"][0] |= change
    return document


@pytest.mark.parametrize(
    ("raw", "document", "why"),
    [
        (RAW[:5], parse(RAW, "fencepost").as_dict(), "is outside of the text, which has 5 characters"),
        ("x" + RAW, parse(RAW, "fencepost").as_dict(), "removes a text that is not there"),
        (RAW, with_edit(old="other"), "removes a text that is not there"),
        (RAW, with_edit(span=[900, 901]), "is outside of its span"),
        (RAW, with_edit(span=[-1, 0]), "is outside of its span"),
        (RAW, parse(RAW, "fencepost").as_dict() | {"chosen": [99]}, "chose an attempt that it has not"),
        (RAW, {"profile": "fencepost", "version": "1"}, "it is no trace: KeyError"),
    ],
)
def test_what_does_not_fit_says_why(raw: str, document: dict[str, Any], why: str) -> None:
    trace = read_stored(raw, document)
    assert (trace.version, trace.verdict, trace.attempts, trace.chosen) == (UNFIT, "failed", (), ())
    said = words.trace_sentence(trace)
    assert why in said and "--again` parses it again" in said
    assert read_stored(raw, trace.as_dict()) == trace

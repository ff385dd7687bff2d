"""What the label form starts with: a judgement where your parser failed, and a cause; and what judgement follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from webapp.parsing import Trace, words
from webapp.store.labels import values
from webapp.store.models import Session, Turn
from webapp.store.write.parser import OURS
from webapp.web.labels.label_form import Fields

CAUSES = {
    "extra_closer": "extra-closing",
    "missing_closer": "missing-closing",
    "doubled_brace": "double-braces",
    "unescaped_quote": "inner-quotes",
    "missing_quote": "unbalanced-quotes",
    "doubled_quote": "unbalanced-quotes",
    "single_quotes": "single-quotes",
    "smart_quotes": "smart-quotes",
    "quotation_mark": "smart-quotes",
    "unquoted_key": "unquoted-keys",
    "trailing_comma": "trailing-comma",
    "missing_comma": "missing-comma",
    "control_character": "control-chars",
    "invisible_character": "bom-zero-width",
    "escaped_json": "escaped-json",
    "escaped_quotes": "escaped-json",
    "literal": "python-literals",
    "non_finite": "nan-infinity",
    "number": "hex-numbers",
    "comment": "comments",
    "ellipsis": "ellipsis",
    "fence_inside": "fence-in-string",
    "truncation": "truncated",
    "cut_literal": "truncated",
    "cut_number": "truncated",
}
"""the known cause for which each repair is needed; another repair's own name is its cause"""


def start(session: Session, turn: Turn, traces: Mapping[str, Trace | str], fields: Fields) -> Fields:
    """The fields of a response that its reader has not labelled: *missed* where your parser failed, and a cause."""
    home = traces.get(session.home_profile)
    failed = turn.recorded_failure is not None or (isinstance(home, Trace) and home.verdict == "failed")
    return replace(fields, judgement="missed" if failed else "", cause=cause(traces.get(OURS)) if failed else "")


def cause(trace: Trace | str | None) -> str:
    """The cause that the first repair of the chosen value names; "" where nothing was repaired."""
    edits = words.chosen_edits(trace) if isinstance(trace, Trace) else []
    return CAUSES.get(edits[0].repair, edits[0].repair.replace("_", "-")) if edits else ""


def judgement(meant: Sequence[Any], returned: Sequence[Any] | None) -> str:
    """What follows from the values that were meant, [] where no JSON is, and those that your parser returned."""
    if not meant:
        return "right" if returned is None else "spurious"
    if returned is None:
        return "missed"
    return "right" if values.same_as(returned) == values.same_as(meant) else "wrong"

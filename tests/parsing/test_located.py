"""The five reports' parsers as straight code under capture: what they decoded stands where our profiles say it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fencepost import Trace, parse, run
from tests.parsing import _cases
from tests.parsing.profiles import transcriptions
from webapp.parsing.edit import apply

PARSERS: dict[str, Callable[[str], Any]] = {
    "windlass-strict": transcriptions.windlass_strict,
    "windlass-eager": transcriptions.windlass_eager,
    "windlass-balanced": transcriptions.windlass_balanced,
    "four-tier": transcriptions.four_tier,
    "master-scored": transcriptions.master_scored,
    "master-before": transcriptions.master_before,
    "fire-circle": transcriptions.fire_circle,
    "fire-circle-before": transcriptions.fire_circle_before,
}


def test_at_least_99_of_100_stand_exactly_where_the_profile_has_them(shared: Path) -> None:
    """Same span and same edits as an attempt of the profile that decoded the same text; nothing is left unlocated."""
    counts: Counter[str] = Counter()
    texts = _cases.given(shared)[::2]
    for name, parser in PARSERS.items():
        for text in texts:
            count(text, run(parser, text), parse(text, name), counts)
    assert counts["attempts"] > 700
    assert counts["same"] >= 0.99 * counts["attempts"], counts
    assert counts["unlocated"] == 0, counts


def count(raw: str, captured: Trace, ours: Trace, counts: Counter[str]) -> None:
    known = {(apply(raw, a.span, a.edits), a.span, changes(a)) for a in ours.attempts}
    for attempt in captured.attempts:
        if attempt.strategy in ("returned", "swallowed"):  # what the parser made of what it decoded
            continue
        text = apply(raw, attempt.span, attempt.edits)
        counts["attempts"] += 1
        counts["same"] += (text, attempt.span, changes(attempt)) in known
        counts["unlocated"] += bool(text) and any(edit.repair == "unlocated" for edit in attempt.edits)


def changes(attempt: Any) -> tuple[Any, ...]:
    return tuple((edit.span, edit.new) for edit in attempt.edits)

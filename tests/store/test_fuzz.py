"""Mutated dumps through reading, the store and the pages; `benchmarks/fuzz.py` does it a thousand ways a file."""

from __future__ import annotations

from benchmarks import fuzz
from tests.conftest import ROOT


def test_nothing_breaks() -> None:
    """A few seconds of it: no exception, no 500, no dump or session that is half there."""
    counts = fuzz.run(ROOT / "examples", ways=3, seed=1, longest=20_000, seconds=8)
    assert counts["broken"] == 0
    assert counts["taken"] > 0

"""What the app makes of a tenth of the examples and cases is what it made before (benchmarks/oracle.py).

A value that changes for a reason is written anew, and its commit says the reason:

    python -m benchmarks.oracle make tests/oracle.json --tenth
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import oracle

EXPECTED = Path(__file__).with_name("oracle.json")


def test_a_tenth_is_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = json.loads(EXPECTED.read_text())
    files, texts = oracle.a_tenth(oracle.ROOT, [*before["uploads"], *before["parses"]])
    made = json.loads(json.dumps(oracle.document(files, tmp_path, None, texts)))
    found = oracle.tell(oracle.differences(before, made), 3)
    assert not found, capsys.readouterr().out


def test_a_difference_is_told_under_its_kind() -> None:
    before = {"sessions": {"a": {"turns": {"00001": {"fencepost": "clean"}}}}, "seconds": {"a": 1}}
    after = {"sessions": {"a": {"turns": {"00001": {"fencepost": "failed"}}}}, "seconds": {"a": 2}}
    place = "sessions a turns 00001 fencepost"
    assert list(oracle.differences(before, after)) == [("sessions.turns.fencepost", place, "clean", "failed")]

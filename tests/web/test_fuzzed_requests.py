"""Hostile requests to every route: the same ones each time, few here, 200,000 by `benchmarks.fuzz_requests`."""

from __future__ import annotations

from pathlib import Path

from benchmarks import fuzz_requests

COUNT = 150


def test_none_is_answered_with_500(tmp_path: Path) -> None:
    statuses, broken = fuzz_requests.run(tmp_path, COUNT, seed=1)
    assert broken == []
    assert sum(statuses.values()) == COUNT and {200, 400, 404, 422} <= statuses.keys()

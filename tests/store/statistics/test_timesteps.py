"""Steps of time: whole ones, which hold both ends, and never too many."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from webapp.store.statistics import timesteps

FIRST = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("much", "step"),
    [
        (timedelta(), "hour"),
        (timedelta(hours=39), "hour"),
        (timedelta(days=39), "day"),
        (timedelta(days=41), "week"),
        (timedelta(days=365), "month"),
        (timedelta(days=365 * 5), "quarter"),
        (timedelta(days=365 * 39), "year"),
        (timedelta(days=365 * 2000), "year"),
    ],
)
def test_steps_hold_both_ends(much: timedelta, step: str) -> None:
    name, edges = timesteps.edges(FIRST, FIRST + much)
    assert name == step
    assert edges[0] <= FIRST and edges[-1] > FIRST + much
    assert edges == sorted(set(edges)) and len(edges) <= timesteps.MOST + 1


def test_steps_at_the_ends_of_time() -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    for start, end in ((first, first), (last, last), (first, last)):
        _, edges = timesteps.edges(start, end)
        assert edges[0] <= start and edges[-1] >= end
        assert len(edges) <= timesteps.MOST + 1

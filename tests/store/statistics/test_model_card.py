"""Intervals of the model card are over sessions, in which failures repeat."""

from __future__ import annotations

import random

from webapp.store.statistics.shares import share


def test_one_session_has_no_interval_and_equal_ones_that_of_so_many_trials() -> None:
    alone, none = share([(3, 4)]), share([])
    assert (alone.share, alone.low, none.share) == (0.75, None, None)
    equal = share([(10, 10)] * 8)
    assert equal.share == equal.high == 1.0 and equal.low is not None and 0.6 < equal.low < 0.7


def test_it_covers_the_true_share_where_bad_sessions_fail_again_and_again() -> None:
    trials, covered = random.Random(3), 0
    for _ in range(400):
        sessions = []
        for _ in range(40):
            rate = 0.5 if trials.random() < 0.3 else 0.95  # a bad session, or a good one
            calls = trials.randrange(5, 15)
            sessions.append((sum(trials.random() < rate for _ in range(calls)), calls))
        found = share(sessions)
        assert found.low is not None and found.high is not None
        covered += found.low <= 0.3 * 0.5 + 0.7 * 0.95 <= found.high
    assert 0.93 <= covered / 400 <= 0.97

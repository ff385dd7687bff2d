"""Responses grouped by one thing, with links to just those; intervals over sessions, and steps of time."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import orm

from tests.store.made import Bring
from webapp.store.rates import share
from webapp.store.sessions import responses
from webapp.store.sessions.filters import Filters
from webapp.store.statistics import timesteps
from webapp.store.statistics.shares import BY, NotGrouped, groups

TEXTS = {"m1": ['{"a": 1}', '{"a": 1,}', "{'a': 1}"], "m2": ['{"b": 2}', "Sure:\n```json\n{}\n```"]}


@pytest.fixture
def stored(bring: Bring) -> None:
    rows = [
        {"session_id": f"s-{model}", "recorded_at": f"2026-11-0{at + 1}T10:00:00Z", "kind": "response", "model": model}
        | {"text": text}
        | ({"tokens_out": 10 + at} if model == "m1" else {})
        for model, texts in TEXTS.items()
        for at, text in enumerate(texts)
    ]
    bring("\n".join(map(json.dumps, rows)).encode(), filename="g.jsonl", home="direct")


@pytest.mark.usefixtures("stored")
def test_groups_are_all_responses_and_their_links_lead_to_them(db: orm.Session) -> None:
    for by in BY:
        found = groups(db, Filters(), by)
        assert sum(one["failed"].of or 0 for one in found) == 5 and sum(one["failed"].count for one in found) == 3
        for one in found:
            assert (one["microseconds"] or 0) > 0 or by != "strategy"
            if one["filters"] is not None and by != "day":  # a day of the list is that of the session
                assert responses.page(db, one["filters"]).total == one["failed"].of, one["value"]


@pytest.mark.usefixtures("stored")
def test_models_have_rates_and_days_come_newest_first(db: orm.Session) -> None:
    models = {one["value"]: (one["failed"].count, one["failed"].of) for one in groups(db, Filters(), "model")}
    assert models == {"m1": (2, 3), "m2": (1, 2)}
    spent = {
        one["value"]: tuple(one["spent"][name] for name in ("tokens_out", "tokens_out_said", "cost"))
        for one in groups(db, Filters(), "model")
    }
    assert spent == {"m1": (11 + 12, 2, None), "m2": (None, 0, None)}, "of the failed ones alone; unknown is no zero"
    assert [one["value"] for one in groups(db, Filters(), "day")] == ["2026-11-03", "2026-11-02", "2026-11-01"]
    assert [one["value"] for one in groups(db, Filters(model="m2"), "model")] == ["m2"]
    assert [one["value"] for one in groups(db, Filters(model="m2"), "strategy")] == ["whole", None], "as many: by name"
    with pytest.raises(NotGrouped):
        groups(db, Filters(tool="x"), "model")


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


FIRST = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("much", "step"),
    [
        (timedelta(), "hour"),
        (timedelta(hours=39), "hour"),
        (timedelta(days=39), "day"),
        (timedelta(days=41), "week"),
        (timedelta(days=365), "4 weeks"),
        (timedelta(days=365 * 5), "13 weeks"),
        (timedelta(days=365 * 38), "52 weeks"),
        (timedelta(days=365 * 2000), "15600 weeks"),
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

"""Statistics: each number counted again from the stored parses, and each bar's link leading to what it counts."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp.store.models import Parse, ParseRepair
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import Filters
from webapp.store.statistics import timesteps
from webapp.store.statistics.report import statistics

DAY = 86400.0


@pytest.fixture
def some(bring: Bring) -> None:
    bring(windlass("a", [entry(BROKEN, model="m1", timestamp=1e9), entry(CALL, model="m2", timestamp=1e9)]))
    bring(windlass("b", [entry(CALL, model="m1", timestamp=1e9 + 9 * DAY), entry("prose", model="m1")]))
    bring([{"role": "assistant", "content": '{"a": 1,}', "model": "m3"}], filename="chat.json")


def test_each_number_is_that_of_the_parses(some: None, db: orm.Session) -> None:
    told = statistics(db, Filters())
    verdicts = Counter((row.profile, row.verdict) for row in db.scalars(sa.select(Parse)))
    won = Counter((row.profile, row.strategy) for row in db.scalars(sa.select(Parse)) if row.strategy)
    repairs = Counter((row.profile, row.repair) for row in db.scalars(sa.select(ParseRepair)))
    took = Counter[str]()
    for row in db.scalars(sa.select(Parse)):
        took[row.profile] += row.microseconds
    assert {(p.profile, e.value): e.count for p in told.profiles for e in p.verdicts if e.count} == dict(verdicts)
    assert {(p.profile, e.value): e.count for p in told.profiles for e in p.strategies} == dict(won)
    assert {(p.profile, e.value): e.count for p in told.profiles for e in p.repairs} == dict(repairs)
    times = {p.profile: round(sum(t.mean * t.parses for t in p.timings)) for p in told.profiles}
    assert times == dict(took)
    assert (told.sessions, told.hidden, told.responses, told.failed, told.rescued) == (3, 0, 5, 2, 2)


def test_filters_narrow_all_of_it(some: None, db: orm.Session) -> None:
    told = statistics(db, Filters(model="m1", failed=True))
    assert (told.sessions, told.hidden, told.responses) == (1, 2, 2)
    assert [model.model for model in told.models] == ["m1", "m2"]
    assert {p.profile: p.home_sessions for p in told.profiles} == {"windlass-strict": 1, "fencepost": 0}
    assert sum(bucket.sessions for bucket in told.over_time) == 1


def test_each_bar_leads_to_the_sessions_that_it_counts(some: None, db: orm.Session) -> None:
    told = statistics(db, Filters(format="windlass"))
    entries = [*told.errors]
    for profile in told.profiles:
        entries += [*profile.verdicts, *profile.strategies, *profile.repairs]
    for bucket in told.over_time:
        entries += bucket.verdicts
        assert sessions.page(db, bucket.filters).total == bucket.sessions
    for one in entries:
        assert sessions.page(db, one.filters).total == one.sessions, one
        assert 0 <= one.share <= 1
    for model in told.models:
        assert sessions.page(db, model.filters).total == model.sessions


def test_a_time_range_clamps_the_buckets(some: None, db: orm.Session) -> None:
    filters = Filters(since="2001-09-09T01:00Z", until="2001-09-20")
    told = statistics(db, filters)
    assert told.step == "day"
    assert [bucket.sessions for bucket in told.over_time if bucket.sessions] == [1, 1]
    assert told.over_time[0].filters.since == "2001-09-09T01:00Z"
    assert len(told.over_time) == 10


def test_nothing_at_all(db: orm.Session) -> None:
    told = statistics(db, Filters())
    assert (told.sessions, told.profiles, told.models, told.errors, told.over_time) == (0, [], [], [], [])


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

"""Failure groups: what a line says, states, new and regressed, rates, neighbours."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import Bring, on_sqlite
from webapp.parsing import failure_group
from webapp.store.failures import events, group_detail, groups, neighbours
from webapp.store.failures.group import Group
from webapp.store.models import Session, Turn
from webapp.store.sessions.filters import Filters

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
COMMA = '{"a": [1, 2,]}'
FENCED = "```json\n{'a': 1}\n```"
COMMA_KEY = "v1|trailing comma|whole|alone"
FENCED_KEY = "v1|single quotes|fenced|alone"


def response(session: str, ago: timedelta, text: str, model: str = "m1") -> dict[str, Any]:
    when = (NOW - ago).isoformat()
    return {"session_id": session, "recorded_at": when, "kind": "response", "text": text, "model": model}


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


DAYS = timedelta(days=1)
HOURS = timedelta(hours=1)


@pytest.fixture
def stored(bring: Bring) -> None:
    old = [response("old", 30 * DAYS - number * HOURS, COMMA) for number in range(3)]
    good = [response("old", 29 * DAYS - number * HOURS, "{}") for number in range(7)]
    new = [response("new", 2 * HOURS - timedelta(minutes=number), FENCED, "m2") for number in range(4)]
    bring(lines(*old, *good, *new, response("new", HOURS, COMMA, "m2"), response("new", HOURS / 2, "{}", "m2")))


def by_key(db: orm.Session, **filters: Any) -> dict[str, Group]:
    db.rollback()
    return {line.key: line for line in groups.page(db, Filters(**filters), now=NOW).groups}


@on_sqlite
def test_nothing_is_new_in_a_first_import_but_what_came_late(bring: Bring, db: orm.Session) -> None:
    first = [response(f"s{ago}", ago * HOURS, COMMA) for ago in range(20, 0, -1)]
    bring(lines(*first, response("early", 19.5 * HOURS, FENCED)))
    assert groups.page(db, Filters(), now=NOW).new == 0
    bring(lines(response("late", HOURS, '{"a": 1}}')))
    (late,) = groups.page(db, Filters(), now=NOW, only_new=True).groups
    assert late.title == "extra closing bracket — alone"
    a_week_later = NOW - 19 * HOURS + 7 * DAYS  # within which the first hour is, and the import's first tenth
    (late,) = groups.page(db, Filters(), now=a_week_later, only_new=True).groups
    assert late.title == "extra closing bracket — alone"


@on_sqlite
def test_a_session_dated_ahead_hides_nothing_that_is_new(bring: Bring, db: orm.Session) -> None:
    ahead, late = response("ahead", -9999 * DAYS, "{}"), response("late", HOURS, COMMA)
    bring(lines(response("first", 9 * DAYS, "{}"), ahead, late))
    assert groups.page(db, Filters(), now=NOW).new == 1


@on_sqlite
@pytest.mark.usefixtures("stored")
def test_states(db: orm.Session) -> None:
    def state(key: str) -> tuple[str, str | None]:
        db.commit()
        line = by_key(db)[key]
        return line.state, line.why

    about: dict[str, Any] = {"author": "ada", "reason": "fixed in the prompt"}
    assert state(COMMA_KEY) == ("open", None)
    events.set_state(db, COMMA_KEY, "resolved", count=4, until=NOW, **about)
    assert state(COMMA_KEY) == ("resolved", None)
    events.set_state(db, COMMA_KEY, "resolved", count=4, until=NOW - 5 * DAYS, **about)
    assert state(COMMA_KEY) == ("regressed", "it was seen after 2026-02-24 12:00 UTC")
    events.set_state(db, COMMA_KEY, "resolved", count=4, profile="direct", version="99", **about)
    assert state(COMMA_KEY)[0] == "resolved"
    events.set_state(db, COMMA_KEY, "resolved", count=4, profile="direct", version="0.9", **about)
    assert state(COMMA_KEY)[0] == "regressed"
    events.set_state(db, COMMA_KEY, "ignored", count=4, **about)
    assert state(COMMA_KEY) == ("ignored", None)
    events.set_state(db, COMMA_KEY, "ignored", count=1, grows=5, **about)
    assert state(COMMA_KEY) == ("ignored", None)
    events.set_state(db, COMMA_KEY, "ignored", count=1, grows=4, **about)
    assert state(COMMA_KEY) == ("open", "it has grown from 1 to 4 responses")
    events.set_state(db, COMMA_KEY, "ignored", count=4, until=NOW - HOURS, **about)
    assert state(COMMA_KEY) == ("open", "it was ignored until 2026-03-01 11:00 UTC")
    events.set_state(db, COMMA_KEY, "open", count=4, **about)
    assert state(COMMA_KEY) == ("open", None)
    events.assign(db, COMMA_KEY, "bob", author="ada")
    db.commit()
    assert by_key(db)[COMMA_KEY].assignee == "bob"
    events.assign(db, COMMA_KEY, None, author="bob")
    db.commit()
    assert by_key(db)[COMMA_KEY].assignee is None
    history = events.history(db, COMMA_KEY)
    assert len(history) == 11 and {event.author for event in history} == {"ada", "bob"}


@on_sqlite
def test_states_that_cannot_be_meant(db: orm.Session) -> None:
    for state, extra in [
        ("gone", {}),
        ("open", {"until": NOW}),
        ("ignored", {"grows": 1.0}),
        ("resolved", {"profile": "direct"}),
        ("ignored", {"profile": "direct", "version": "1"}),
        ("resolved", {"grows": 2.0}),
    ]:
        with pytest.raises(events.BadState):
            events.set_state(db, COMMA_KEY, state, count=1, author="ada", reason="so", **extra)
        with pytest.raises(events.BadState):
            events.set_state(db, COMMA_KEY, "open", count=1, author="ada", reason=" ")


@on_sqlite
@pytest.mark.usefixtures("stored")
def test_merges_that_cannot_be_meant(db: orm.Session) -> None:
    about = {"author": "ada", "reason": "so"}
    events.merge(db, FENCED_KEY, COMMA_KEY, **about)
    for change in (
        lambda: events.merge(db, COMMA_KEY, FENCED_KEY, **about),
        lambda: events.merge(db, COMMA_KEY, COMMA_KEY, **about),
        lambda: events.merge(db, FENCED_KEY, COMMA_KEY, author="ada", reason=""),
    ):
        with pytest.raises(events.BadState):
            change()
    with pytest.raises(events.BadState):
        events.unmerge(db, COMMA_KEY, **about)


def test_a_group_lists_what_came_to_it_by_way_of_another(db: orm.Session) -> None:
    about = {"author": "ada", "reason": "so"}
    events.merge(db, "v1|extra closer|fenced|alone", FENCED_KEY, **about)
    events.merge(db, FENCED_KEY, COMMA_KEY, **about)
    assert sorted(group_detail.find(db, COMMA_KEY, Filters(), now=NOW).merged) == sorted(
        ["v1|extra closer|fenced|alone", FENCED_KEY]
    )


def test_groups_that_two_people_merged_into_each_other_are_one() -> None:
    assert events.shown_in({"b": "a", "a": "b", "c": "b", "d": "e"}) == {"a": "a", "b": "a", "c": "a", "d": "e"}


@pytest.mark.usefixtures("stored")
def test_the_largest_groups_for_merging(db: orm.Session, bring: Bring) -> None:
    bring(lines(response("more", HOURS, COMMA)))
    db.rollback()
    commas = (COMMA_KEY, failure_group.title(COMMA_KEY))
    assert groups.largest(db, 9) == [commas, (FENCED_KEY, failure_group.title(FENCED_KEY))]
    assert groups.largest(db, 1) == [commas]


@pytest.mark.usefixtures("stored")
def test_neighbours(db: orm.Session) -> None:
    session = db.scalars(sa.select(Session).where(Session.external_id == "new")).one()
    ids = db.scalars(sa.select(Turn.id).where(Turn.session_id == session.id).order_by(Turn.id)).all()
    same = [neighbours.of_turn(db, turn_id) for turn_id in ids]
    first, last = same[0], same[3]
    assert first is not None and last is not None and same[-1] is None
    assert (first.key, first.count, first.sessions, first.here) == (FENCED_KEY, 4, 1, 4)
    assert first.earlier is None and first.later is not None and first.later.turn_id == ids[1]
    assert last.later is None and last.earlier is not None and last.earlier.turn_id == ids[2]
    comma = same[4]
    assert comma is not None and comma.earlier is not None and comma.earlier.external_id == "old"
    assert [(one.key, one.here) for one in neighbours.of_session(db, session.id)] == [(FENCED_KEY, 4), (COMMA_KEY, 1)]

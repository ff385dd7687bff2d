"""The index against a plain evaluation: any filters, counts and orders; kept fresh as if it were read anew."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import orm

from tests.store.conftest import SERVER
from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp.store import index
from webapp.store.db.database import connect
from webapp.store.db.dialect import horizon
from webapp.store.index import bit_sliced_index, order, session_reader
from webapp.store.index.session_reader import Row, microseconds, moment
from webapp.store.index.state import State
from webapp.store.labels import labels
from webapp.store.sessions import deletion, sessions, turns
from webapp.store.sessions.filters import SORTS, Filters
from webapp.store.sessions.narrowing import FACETS, Narrowed
from webapp.store.statistics.report import statistics
from webapp.store.write.tally import VERDICTS

names = st.sampled_from("abc")


def counts(how_many: int) -> st.SearchStrategy[list[int]]:
    """From 0 to 5 each; drawn at once, since drawing took half the time of these tests."""
    return st.binary(min_size=how_many, max_size=how_many).map(lambda drawn: [byte % 6 for byte in drawn])


START = moment(63_900_000_000_000_000)
facets = st.fixed_dictionaries(
    {
        "profiles": st.dictionaries(
            st.sampled_from(("p", "q")),
            st.fixed_dictionaries(
                {
                    "verdicts": counts(5),
                    "repairs": st.dictionaries(names, st.integers(1, 300)),
                    "won": st.dictionaries(
                        names, st.tuples(st.integers(1, 9), st.integers(0, 70_000), st.just({"3": 1}))
                    ),
                    "tried": st.dictionaries(names, st.integers(1, 9)),
                }
            ),
        ),
        "errors": st.dictionaries(names, st.integers(1, 40)),
        "models": st.dictionaries(names, counts(10)),
        "agents": st.lists(names, unique=True),
        "finding": st.dictionaries(names, st.integers(1, 3)),
    }
)
COUNTED = ("failed", "rescued", "responses", "turns", "bytes", "labelled")
COUNTED += ("clean", "extracted", "repaired", "unparsed", "none")
row = st.builds(
    lambda numbers, **rest: Row(**dict(zip(COUNTED, numbers, strict=True)), **rest),
    counts(len(COUNTED)),
    id=st.integers(1, 60),
    changed=st.integers(1, 99),
    facets=facets,
    home=st.sampled_from(("p", "q", "r")),
    home_source=st.text(),
    service=st.none() | st.text(),
    format=names,
    when=st.integers(0, 4).map(lambda days: microseconds(START + timedelta(days=days))),
    judgements=st.frozensets(st.sampled_from(("right", "wrong"))),
)
rows = st.lists(row, max_size=25, unique_by=lambda one: one.id).map(lambda some: sorted(some, key=lambda one: one.id))
days = st.none() | st.integers(0, 5).map(lambda day: (START + timedelta(days=day)).date().isoformat())
filters = st.builds(
    Filters,
    failed=st.booleans(),
    verdict=st.none() | st.sampled_from(VERDICTS),
    under=st.sampled_from(("home", "p", "q", "unknown")),
    **{name: st.none() | names for name in ("strategy", "repair", "error", "model", "agent", "finding", "format")},
    home=st.none() | st.sampled_from(("p", "r")),
    label=st.none() | st.sampled_from(("labelled", "unlabelled", "wrong")),
    since=days,
    until=days,
    failures=st.none() | st.integers(0, 6),
    sort=st.sampled_from(SORTS),
)


def holds(one: Row, filters: Filters, but: str = "") -> bool:
    """Whether a session is in view, by the words of `Filters`."""
    found = one.facets["profiles"].get(one.home if filters.under == "home" else filters.under, {})
    verdicts = found.get("verdicts", [0] * 5)
    if filters.under == "home":
        verdicts = [one.clean, one.extracted, one.repaired, one.unparsed, one.none]
    since, until = filters.span()
    tests = {
        "failed": not filters.failed or one.failed > 0,
        "verdict": filters.verdict is None or verdicts[VERDICTS.index(filters.verdict)] > 0,
        "strategy": filters.strategy in (None, *found.get("won", ())),
        "repair": filters.repair in (None, *found.get("repairs", ())),
        "error": filters.error in (None, *one.facets["errors"]),
        "model": filters.model in (None, *one.facets["models"]),
        "agent": filters.agent in (None, *one.facets["agents"]),
        "finding": filters.finding in (None, *one.facets["finding"]),
        "format": filters.format in (None, one.format),
        "service": filters.service in (None, one.service),
        "home": filters.home in (None, one.home),
        "since": since is None or moment(one.when) >= since,
        "until": until is None or moment(one.when) < until,
        "failures": filters.failures is None or one.failed > filters.failures,
        "label": filters.label is None
        or (filters.label == "labelled" and one.labelled > 0)
        or (filters.label == "unlabelled" and one.labelled == 0)
        or filters.label in one.judgements,
    }
    return all(true for name, true in tests.items() if name != but)


def key(one: Row, sort: str) -> tuple[int, ...]:
    first = {"failing": (one.failed > 0,), "time": (), "failures": (one.failed,), "length": (one.responses,)}[sort]
    return (*first, one.when, one.id)


def no_dump(_: str) -> int:
    return 0


@settings(max_examples=60, deadline=None)
@given(rows, filters, st.integers(1, 7))
def test_any_filters_in_any_order_page_by_page(some: list[Row], filters: Filters, limit: int) -> None:
    state = State().extended(some)
    view = Narrowed(state, filters, no_dump).view
    expected = sorted(
        (one for one in some if holds(one, filters)), key=lambda one: key(one, filters.sort), reverse=True
    )
    seen: list[int] = []
    after = None
    while True:
        slots, after = order.first(state, filters.sort, view, after, limit)
        assert len(slots) <= limit
        seen += [state.numbers["id"].values[slot] for slot in slots]
        if after is None:
            break
    assert seen == [one.id for one in expected]


@settings(max_examples=50, deadline=None)
@given(rows, filters)
def test_a_facet_counts_what_its_value_would_show(some: list[Row], filters: Filters) -> None:
    narrowed = Narrowed(State().extended(some), filters, no_dump)
    for facet in FACETS:
        for value, count in narrowed.counts(facet).items():
            chosen = Filters(**{**filters.active(), "failed": filters.failed, facet: value})
            assert count == sum(holds(one, chosen) for one in some), (facet, value)


@settings(max_examples=50, deadline=None)
@given(rows, st.lists(rows, max_size=3), st.sets(st.integers(1, 60)), st.booleans())
def test_what_is_added_later_is_as_if_it_were_read_at_once(
    first: list[Row], later: list[list[Row]], gone: set[int], looks_between: bool
) -> None:
    state = State().extended(first)
    known = {one.id: one for one in first}
    for some in later:
        before, expected = state, said(state) if looks_between else None
        state = state.extended(some)
        assert expected is None or said(before) == expected, "what is new leaves earlier states as they are"
        known |= {one.id: one for one in some}
    state = state.extended([], gone)
    known = {number: one for number, one in known.items() if number not in gone}
    assert said(state) == said(State().extended([known[number] for number in sorted(known)]))
    assert all(state.numbers["id"].values[state.slot(number) or 0] == number for number in known)


@given(rows, rows, rows)
def test_two_states_grow_out_of_one(first: list[Row], one: list[Row], other: list[Row]) -> None:
    state = State().extended(first)
    grown = state.extended(one)
    state.extended(other)
    assert said(grown) == said(State().extended(first).extended(one))


def test_a_write_copies_no_list_of_numbers() -> None:
    numbers = bit_sliced_index.no_numbers().extended(range(500))
    assert numbers.extended([7]).values is numbers.values


def said(state: State) -> dict[Any, Any]:
    """All that a state says of its sessions, by their ids."""
    ids, view = state.numbers["id"].values, state.alive
    told: dict[Any, Any] = {
        name: {ids[slot]: numbers.values[slot] for slot in state.alive} for name, numbers in state.numbers.items()
    }
    told |= {f"total {name}": numbers.total(view) for name, numbers in state.numbers.items()}
    for dimension, columns in state.dimensions.items():
        for value, column in columns.items():
            members = {ids[slot] for slot in column.members & state.alive}
            if members:
                told[dimension, value] = (
                    members,
                    column.sessions(view),
                    column.total(view),
                )
    return told


slots = st.sets(st.integers(0, 5000))


@given(slots, slots)
def test_a_column_counts_and_adds_up(first: set[int], second: set[int]) -> None:
    column = bit_sliced_index.Column().extended(sorted(first), [slot % 70 + 1 for slot in sorted(first)])
    view = bit_sliced_index.of_slots(second)
    assert column.sessions(view) == len(first & second)
    assert column.total(view) == sum(slot % 70 + 1 for slot in first & second)
    assert {slot for slot in second if column.has(slot)} == first & second


@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=40), st.integers(0, 2**63 - 1), st.data())
def test_numbers_by_their_digits(values: list[int], bound: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(values)))
    numbers = bit_sliced_index.no_numbers().extended(values[:cut]).extended(values[cut:])
    among = data.draw(st.sets(st.integers(0, len(values) - 1), min_size=1))
    view = bit_sliced_index.of_slots(sorted(among))
    assert numbers.total(view) == sum(values[slot] for slot in among)
    assert list(numbers.below(bound, view)) == [slot for slot in sorted(among) if values[slot] < bound]
    assert (numbers.least(view), numbers.greatest(view)) == (
        min(values[slot] for slot in among),
        max(values[slot] for slot in among),
    )
    assert list(numbers.values) == values


@pytest.fixture
def two(bring: Bring) -> list[str]:
    return [bring(windlass(name, [entry(BROKEN, model=name), entry(CALL)])).keys[0] for name in ("one", "two")]


def test_it_follows_what_is_written(two: list[str], bring: Bring, engine: sa.Engine, db: orm.Session) -> None:
    """New sessions, growth, labels and deletions, each seen at the next look and as a new reading sees them."""

    def look() -> State:
        db.rollback()
        state = index.current(db)
        index._indexes.pop(engine)
        assert said(state) == said(index.current(db))
        return state

    assert len(look().alive) == 2
    bring(windlass("three", [entry(CALL)]))
    assert len(look().alive) == 3
    bring(windlass("three", [entry(CALL), entry(BROKEN, model="m3")]))
    assert sessions.page(db, Filters(model="m3")).total == 1
    labels.put(db, turns.find(db, sessions.find(db, "one"), 0).turn, author="ann", judgement="missed")
    assert [line.key for line in sessions.page(db, Filters(label="missed")).sessions] == [two[0]]
    deletion.delete(db, [two[1]])
    assert len(look().alive) == 2
    assert statistics(db, Filters()).responses == 4


def test_nothing_new_gives_the_same_state(two: list[str], db: orm.Session) -> None:
    assert index.current(db) is index.current(db)


def test_looking_for_what_is_new_does_not_go_through_all_sessions(engine: sa.Engine) -> None:
    if engine.dialect.name != "sqlite":
        return  # PostgreSQL's planner chooses by statistics, which an empty table has none of
    ran: list[str] = []
    with engine.connect() as connection:
        sa.event.listen(connection, "before_cursor_execute", lambda *event: ran.append(event[2]))
        session_reader.changed(connection, 7)
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {ran[0]}", (7,)).all()
    assert [row.detail for row in plan] == ["SEARCH session USING COVERING INDEX ix_session_changed (changed>?)"]


def test_the_horizon_moves_though_nothing_is_new(
    two: list[str], engine: sa.Engine, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a long transaction made look at again is not looked at for ever."""
    state = index.current(db)
    looked: list[int] = []
    changed = session_reader.changed
    monkeypatch.setattr(
        session_reader, "changed", lambda connection, since: looked.append(since) or changed(connection, since)
    )
    index._indexes[engine].horizon = 1
    assert index.current(db) is state and index.current(db) is state
    assert looked[0] == 1 and 1 not in looked[1:]


@pytest.mark.postgres
def test_transactions_of_other_databases_do_not_hold_the_horizon_back(
    postgres: str, request: pytest.FixtureRequest
) -> None:
    """Another test's transaction that ends while the horizon is read counts as ours, so it is read again."""
    looks = range(1000)
    ours, elsewhere = (connect(f"{SERVER}/{name}") for name in (postgres, "postgres"))
    request.addfinalizer(ours.dispose)
    request.addfinalizer(elsewhere.dispose)
    number = sa.select(sa.cast(sa.cast(sa.func.pg_current_xact_id(), sa.Text), sa.BigInteger))
    with ours.connect() as connection, elsewhere.connect() as idle, ours.connect() as own:
        foreign = idle.scalar(number)
        with ours.begin() as later:
            after = later.scalar(number)
        assert any(foreign < after < horizon(connection) for _ in looks)
        oldest = own.scalar(number)
        with ours.begin() as later:
            later.scalar(number)
        assert any(horizon(connection) == oldest for _ in looks)
        own.rollback()
        assert any(horizon(connection) > oldest for _ in looks)

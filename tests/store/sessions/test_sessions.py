"""The session list: filters, searches, views, cursors; finding sessions and dumps, stepping and parting."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, on_sqlite, windlass
from webapp.store.labels import label_content
from webapp.store.models import Session
from webapp.store.sessions import debugger_queries, dumps, session_list, sessions
from webapp.store.sessions.filters import JUDGEMENTS, BadFilter, Filters, cursor_place, of_parameters


@on_sqlite
def test_a_made_up_cursor_is_refused(db: orm.Session) -> None:
    for after in [
        "",
        "x",
        "ÿ",
        "bnVsbA",
        *(base64.urlsafe_b64encode(text).decode() for text in (b'[1,"x",1]', b'[true,"2020-01-01",1]')),
    ]:
        with pytest.raises(sessions.BadCursor):
            session_list.page(db, Filters(), after=after)


@given(st.text())
def test_no_cursor_at_all_breaks_it(after: str) -> None:
    try:
        cursor_place("failing", after)
    except sessions.BadCursor:
        return


@on_sqlite
def test_an_id_goes_before_a_key(bring: Bring, db: orm.Session) -> None:
    key = bring(windlass("one", [entry("1")])).keys[0]
    bring(windlass(key, [entry("2")]))
    assert sessions.find(db, key).external_id == key


def test_an_unknown_session_is_refused(db: orm.Session) -> None:
    for ident in ["", "no", "\0", "\ud800", "x" * 10_000]:
        with pytest.raises(sessions.NoSuchSession):
            sessions.find(db, ident)


def test_no_such_dump(db: orm.Session) -> None:
    for ident in ["", "0", "-1", "٣", "\0", "\ud800", "9" * 30, "f" * 64, 2**62]:
        with pytest.raises(dumps.NoSuchDump):
            dumps.find(db, ident)


@on_sqlite
def test_a_dump_of_many_sessions_names_the_first(bring: Bring) -> None:
    entries = [entry("x", session_id=f"s{number:02}", timestamp=1.0) for number in range(30)]
    done = bring("\n".join(json.dumps(one) for one in entries).encode(), filename="many.jsonl")
    assert done.dump.session_count == len(done.sessions) == 30
    assert [link.external_id for link in done.dump.sessions] == [f"s{number:02}" for number in range(20)]


@on_sqlite
def test_a_query_has_an_end(db: orm.Session) -> None:
    with pytest.raises(session_list.BadView, match="at most 4000"):
        session_list.save_view(db, "long", "x" * 4001, author="ann")


@on_sqlite
def test_there_are_not_too_many(db: orm.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_list, "MOST_VIEWS", 1)
    session_list.save_view(db, "one", "a=1", author="ann")
    session_list.save_view(db, "one", "a=2", author="ann")
    with pytest.raises(session_list.BadView, match="remove one first"):
        session_list.save_view(db, "two", "a=1", author="ann")


def test_sessions_values_and_views_are_found_by_a_part_of_their_names(bring: Bring, db: orm.Session) -> None:
    bring(windlass("run-7", [entry(CALL, model="gpt_4%o")]))
    session_list.save_view(db, "Mine", "failed=1", author="ann")
    assert [session.external_id for session in sessions.with_id(db, "UN-7", 5)] == ["run-7"]
    assert session_list.facet_values(db, "T_4%", 5) == [("model", "gpt_4%o")]
    assert session_list.facet_values(db, "t.4", 5) == session_list.facet_values(db, "\0\ud800", 5) == []
    assert [view.name for view in session_list.views(db, "min")] == ["Mine"] and session_list.views(db, "%") == []


def key(db: orm.Session, external_id: str) -> str:
    return db.scalars(sa.select(Session.key).where(Session.external_id == external_id)).one()


def test_two_sessions_part_where_a_text_differs_or_one_ends(db: orm.Session, bring: Bring) -> None:
    for name, texts in {"a": ("x", "y"), "b": ("x", "z"), "c": ("x",), "d": ("x", "y")}.items():
        bring(windlass(name, [entry(text) for text in texts]))
    a, b, c, d = sessions.selected(db, [key(db, name) for name in "abcd"])
    assert sessions.parting(db, a, b) == sessions.Parting(1, 1, 1)
    assert sessions.parting(db, a, c) == sessions.Parting(1, 1, None)
    assert sessions.parting(db, c, a) == sessions.Parting(1, None, 1)
    assert sessions.parting(db, a, d) == sessions.Parting(2, None, None)


def test_a_day_holds_its_end() -> None:
    since, until = Filters(since="2026-01-02", until="2026-01-02").span()
    assert since == datetime(2026, 1, 2, tzinfo=UTC)
    assert until == since + timedelta(days=1)
    assert Filters(until="2026-01-02T03:04+02:00").span()[1] == datetime(2026, 1, 2, 1, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"verdict": "broken"}, "verdict takes clean, extracted, repaired, failed, none, not_run, not 'broken'"),
        ({"label": "maybe"}, "label takes labelled, unlabelled, right, .*, not 'maybe'"),
        ({"sort": "size"}, "sort takes failing, time, failures, length, not 'size'"),
        ({"failures": "-1"}, "failures must be a number, not '-1'"),
        ({"failures": "٣"}, "failures must be a number"),
        ({"failures": "9999999999"}, "failures must be a number from 0 to"),
        ({"since": "yesterday"}, "since must be a date like .*, not 'yesterday'"),
        ({"until": "9999-12-31"}, "until must be a date"),
        ({"since": "0001-01-01T00:00+14:00"}, "since must be a date"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(given: dict[str, str], says: str) -> None:
    with pytest.raises(BadFilter, match=says):
        of_parameters(given)


def test_judgements_are_those_of_labels() -> None:
    assert tuple(label_content.JUDGEMENTS) == JUDGEMENTS


MODELS = ("m1", "m2", "m1", "m2")


@pytest.fixture
def several(bring: Bring) -> None:
    """From the newest: s3 … s0 with 4, 3, 2 and 1 responses, each second of them failed; s0 has no failure."""
    for number, model in enumerate(MODELS):
        texts = [BROKEN if turn % 2 else CALL for turn in range(number + 1)]
        entries = [entry(text, model=model, timestamp=100.0 * number + at) for at, text in enumerate(texts)]
        bring(windlass(f"s{number}", entries))


def walk(db: orm.Session, filters: Filters, name: str, position: int, forward: bool) -> list[tuple[str, int]]:
    places, session = [], sessions.find(db, name)
    while place := debugger_queries.failed_beside(db, filters, session, position, forward):
        session, position = place
        places.append((session.external_id, position))
    return places


def test_all_failures_once_in_the_order_of_the_list_and_back(several: None, db: orm.Session) -> None:
    for sort in ["failing", "time", "failures", "length"]:
        expected = [("s3", 1), ("s3", 3), ("s2", 1), ("s1", 1)]
        assert walk(db, Filters(sort=sort), "s3", -1, True) == expected
        assert walk(db, Filters(sort=sort), "s1", 1, False) == expected[-2::-1]


def test_filters_leave_sessions_out_and_a_session_outside_of_them_has_a_place(several: None, db: orm.Session) -> None:
    assert walk(db, Filters(model="m2"), "s3", -1, True) == [("s3", 1), ("s3", 3), ("s1", 1)]
    assert walk(db, Filters(model="m2"), "s2", 1, True) == [("s1", 1)]
    assert walk(db, Filters(model="m2"), "s2", 0, False) == [("s3", 3), ("s3", 1)]
    assert walk(db, Filters(q="run_code", sort="length"), "s3", 3, True) == [("s2", 1), ("s1", 1)]
    assert walk(db, Filters(), "s0", -1, True) == []


@pytest.fixture
def nine(bring: Bring) -> None:
    """Sessions s0 to s8, the last one the newest; those with an even number failed."""
    for number in range(9):
        texts = [entry("a zebra here"), entry(BROKEN if number % 2 == 0 else CALL, model=f"m{number % 3}")]
        bring(windlass(f"s{number}", texts))


def ids(page: session_list.Page) -> list[str]:
    return [line.external_id for line in page.sessions]


@on_sqlite
def test_the_newest_matches_come_first_in_context(nine: None, db: orm.Session) -> None:
    page = session_list.page(db, Filters(q="zebra"), limit=4)
    assert ids(page) == ["s8", "s7", "s6", "s5"]
    assert (page.total, page.hidden, page.open_ended) == (9, 0, False)
    match = page.matches[page.sessions[0].key][0]
    assert (match.position, match.where) == (0, "raw")
    assert ("zebra", True) in match.fragments
    seen = ids(page)
    while page.next is not None:
        page = session_list.page(db, Filters(q="zebra"), after=page.next, limit=4)
        seen += ids(page)
    assert seen == [f"s{number}" for number in range(8, -1, -1)]


def test_filters_and_facets_hold_under_a_search(nine: None, db: orm.Session) -> None:
    page = session_list.page(db, Filters(q="zebra", failed=True, model="m0"))
    assert ids(page) == ["s6", "s0"]
    assert (page.total, page.hidden) == (2, 7)
    assert dict(page.facets["model"].values) == {"m0": 2, "m1": 1, "m2": 2}
    assert session_list.page(db, Filters(q="zebra", model="unknown")).total == 0


def test_of_a_common_word_it_says_that_there_are_more(
    nine: None, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_COUNTED", 3)
    page = session_list.page(db, Filters(q="zebra"), limit=2)
    assert (page.total, page.open_ended, ids(page)) == (3, True, ["s8", "s7"])
    page = session_list.page(db, Filters(q="zebra", model="m0"), limit=2)
    assert (page.total, page.open_ended, ids(page)) == (3, False, ["s6", "s3"])


def test_what_no_word_is_is_looked_for_within_ids(bring: Bring, db: orm.Session) -> None:
    for number in range(3):
        bring(windlass(f"run-{number}-0a1b2c3d4e", [entry(CALL)]))
    first = session_list.page(db, Filters(q="A1B2C3"), limit=2)
    assert ids(first) == ["run-2-0a1b2c3d4e", "run-1-0a1b2c3d4e"]
    assert ids(session_list.page(db, Filters(q="A1B2C3"), after=first.next, limit=2)) == ["run-0-0a1b2c3d4e"]
    assert session_list.page(db, Filters(q="%_")).total == 0


@on_sqlite
def test_a_cursor_of_another_order_is_refused(nine: None, db: orm.Session) -> None:
    after = session_list.page(db, Filters(), limit=2).next
    with pytest.raises(sessions.BadCursor, match="in this order"):
        session_list.page(db, Filters(q="zebra"), after=after)

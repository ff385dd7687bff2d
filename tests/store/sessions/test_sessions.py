"""The session list: order, pages, filters, counts, and finding one."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp.store.labels import labels
from webapp.store.sessions import sessions, turns
from webapp.store.sessions.filters import Filters, decoded_cursor


@pytest.fixture
def four(bring: Bring) -> None:
    """Four sessions, from the newest: fine, two that failed (one beyond rescue), empty."""
    bring(windlass("fine", [entry(CALL, model="m1", timestamp=400.0)]))
    bring(windlass("rescued", [entry(BROKEN, model="m1", timestamp=300.0)]))
    bring(windlass("lost", [entry("said", model="m2", timestamp=200.0), entry("no", "validation_error")]))
    bring([{"role": "user", "content": "hi"}], filename="chat.json")


def ids(db: orm.Session, filters: Filters) -> list[str]:
    return [line.external_id for line in sessions.page(db, filters).sessions]


def test_failed_ones_come_first_then_the_newest(four: None, db: orm.Session) -> None:
    assert ids(db, Filters()) == ["rescued", "lost", "chat", "fine"]


def test_a_line_says_all_that_the_list_shows(four: None, db: orm.Session) -> None:
    line = sessions.page(db, Filters()).sessions[0]
    assert (line.external_id, line.revision, line.models, line.strip) == ("rescued", 1, ["m1"], "s")
    assert (line.turn_count, line.response_count, line.failed_count, line.rescued_count) == (1, 1, 1, 1)
    assert (line.source_format, line.home_profile, line.label_count) == ("windlass", "windlass-strict", 0)
    assert line.started_at is not None and line.started_at.timestamp() == 300.0


def test_filters_combine(four: None, db: orm.Session) -> None:
    for filters, expected in [
        (Filters(failed=True), ["rescued", "lost"]),
        (Filters(rescued=True), ["rescued"]),
        (Filters(verdict="extracted"), ["fine"]),
        (Filters(verdict="failed"), ["rescued"]),
        (Filters(verdict="none"), ["lost"]),
        (Filters(verdict="clean"), []),
        (Filters(model="m1"), ["rescued", "fine"]),
        (Filters(model="m\0"), []),
        (Filters(format="windlass"), ["rescued", "lost", "fine"]),
        (Filters(format="\ud800\0"), []),
        (Filters(label="unlabelled"), ["rescued", "lost", "chat", "fine"]),
        (Filters(label="labelled"), []),
        (Filters(q="RESC"), ["rescued"]),
        (Filters(q="%"), []),
        (Filters(failed=True, model="m2"), ["lost"]),
    ]:
        page = sessions.page(db, filters)
        assert [line.external_id for line in page.sessions] == expected
        assert (page.total, page.hidden) == (len(expected), 4 - len(expected))


def test_labelled_sessions(four: None, db: orm.Session) -> None:
    turn = turns.find(db, sessions.find(db, "lost"), 0).turn
    labels.put(db, turn, author="ann", judgement="right")
    assert ids(db, Filters(label="labelled")) == ["lost"]
    assert ids(db, Filters(label="unlabelled")) == ["rescued", "chat", "fine"]


def test_a_page_that_just_fits_has_no_next(four: None, db: orm.Session) -> None:
    assert sessions.page(db, Filters(), limit=4).next is None
    assert sessions.page(db, Filters(), limit=3).next is not None


def test_a_made_up_cursor_is_refused(db: orm.Session) -> None:
    for after in [
        "",
        "x",
        "ÿ",
        "bnVsbA",
        *(base64.urlsafe_b64encode(text).decode() for text in (b'[1,"x",1]', b'[true,"2020-01-01",1]')),
    ]:
        with pytest.raises(sessions.BadCursor):
            sessions.page(db, Filters(), after=after)


@given(st.text())
def test_no_cursor_at_all_breaks_it(after: str) -> None:
    try:
        decoded_cursor(after, "failing", 3)
    except sessions.BadCursor:
        return


def test_an_id_goes_before_a_key(bring: Bring, db: orm.Session) -> None:
    key = bring(windlass("one", [entry("1")])).keys[0]
    bring(windlass(key, [entry("2")]))
    assert sessions.find(db, key).external_id == key


def test_an_unknown_session_is_refused(db: orm.Session) -> None:
    for ident in ["", "no", "\0", "\ud800", "x" * 10_000]:
        with pytest.raises(sessions.NoSuchSession):
            sessions.find(db, ident)

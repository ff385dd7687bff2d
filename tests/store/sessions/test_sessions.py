"""The session list: order, pages, filters, counts, and finding one."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp.store.sessions import session_list, sessions
from webapp.store.sessions.filters import Filters, decoded_cursor


@pytest.fixture
def four(bring: Bring) -> None:
    """Four sessions, from the newest: fine, two that failed (one beyond rescue), empty."""
    bring(windlass("fine", [entry(CALL, model="m1", timestamp=400.0)]))
    bring(windlass("rescued", [entry(BROKEN, model="m1", timestamp=300.0)]))
    bring(windlass("lost", [entry("said", model="m2", timestamp=200.0), entry("no", "validation_error")]))
    bring([{"role": "user", "content": "hi"}], filename="chat.json")


def test_a_search_and_values_that_no_session_has(four: None, db: orm.Session) -> None:
    """The other filters, and how they combine, are recounted in `test_recount`."""
    for filters, expected in [
        (Filters(q="RESC"), ["rescued"]),
        (Filters(q="%"), []),
        (Filters(format="\ud800\0"), []),
        (Filters(verdict="clean"), []),
    ]:
        page = session_list.page(db, filters)
        assert [line.external_id for line in page.sessions] == expected
        assert (page.total, page.hidden) == (len(expected), 4 - len(expected))


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

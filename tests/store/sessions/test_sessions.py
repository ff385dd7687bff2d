"""The session list: order, pages, filters, counts, and finding one."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import orm

from tests.store.made import Bring, entry, windlass
from webapp.store.sessions import session_list, sessions
from webapp.store.sessions.filters import Filters, decoded_cursor


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

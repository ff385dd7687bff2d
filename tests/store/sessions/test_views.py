"""Saved views: a name for some filters, replaced by what is saved under it next."""

from __future__ import annotations

import pytest
from sqlalchemy import orm

from tests.store.made import CALL, Bring, entry, windlass
from webapp.store.sessions import session_list, sessions


def test_a_query_has_an_end(db: orm.Session) -> None:
    with pytest.raises(session_list.BadView, match="at most 4000"):
        session_list.save_view(db, "long", "x" * 4001, author="ann")


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
    assert [view.name for view in session_list.views_with(db, "min", 5)] == ["Mine"] and session_list.views_with(
        db, "%", 5
    ) == []

"""Saved views: a name for some filters, replaced by what is saved under it next."""

from __future__ import annotations

import pytest
from sqlalchemy import orm

from tests.store.made import CALL, Bring, entry, windlass
from webapp.store.sessions import sessions, views


def test_a_query_has_an_end(db: orm.Session) -> None:
    with pytest.raises(views.BadView, match="at most 4000"):
        views.save(db, "long", "x" * 4001, author="ann")


def test_there_are_not_too_many(db: orm.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_VIEWS", 1)
    views.save(db, "one", "a=1", author="ann")
    views.save(db, "one", "a=2", author="ann")
    with pytest.raises(views.BadView, match="remove one first"):
        views.save(db, "two", "a=1", author="ann")


def test_sessions_values_and_views_are_found_by_a_part_of_their_names(bring: Bring, db: orm.Session) -> None:
    bring(windlass("run-7", [entry(CALL, model="gpt_4%o")]))
    views.save(db, "Mine", "failed=1", author="ann")
    assert [session.external_id for session in sessions.with_id(db, "UN-7", 5)] == ["run-7"]
    assert views.facets(db, "T_4%", 5) == [("model", "gpt_4%o")]
    assert views.facets(db, "t.4", 5) == views.facets(db, "\0\ud800", 5) == []
    assert [view.name for view in views.views_named(db, "min", 5)] == ["Mine"] and views.views_named(db, "%", 5) == []

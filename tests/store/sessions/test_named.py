"""What is found under a part of its name, on both databases."""

from __future__ import annotations

from sqlalchemy import orm

from tests.store.made import CALL, Bring, entry, windlass
from webapp.store.sessions import named, views


def test_sessions_values_and_views_are_found_by_a_part_of_their_names(bring: Bring, db: orm.Session) -> None:
    bring(windlass("run-7", [entry(CALL, model="gpt_4%o")]))
    views.save(db, "Mine", "failed=1", author="ann")
    assert [session.external_id for session in named.sessions(db, "UN-7", 5)] == ["run-7"]
    assert named.facets(db, "T_4%", 5) == [("model", "gpt_4%o")]
    assert named.facets(db, "t.4", 5) == named.facets(db, "\0\ud800", 5) == []
    assert [view.name for view in named.views(db, "min", 5)] == ["Mine"] and named.views(db, "%", 5) == []

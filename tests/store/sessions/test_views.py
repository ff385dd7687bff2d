"""Saved views: a name for some filters, replaced by what is saved under it next."""

from __future__ import annotations

import pytest
from sqlalchemy import orm

from webapp.store.sessions import views


def test_a_view_is_saved_replaced_and_removed(db: orm.Session) -> None:
    first = views.save(db, " Night ", "?failed=1", author="ann")
    assert (first.name, first.query, first.author) == ("Night", "failed=1", "ann")
    views.save(db, "all", "", author="ann")
    again = views.save(db, "Night", "failed=1&model=m", author="bob")
    assert [(view.name, view.query) for view in views.views(db)] == [("all", ""), ("Night", "failed=1&model=m")]
    assert views.remove(db, again.id)
    assert not views.remove(db, again.id)
    assert [view.name for view in views.views(db)] == ["all"]


@pytest.mark.parametrize("name", ["", "  ", "x" * 129, "two\nlines"])
def test_a_name_is_one_short_line(name: str, db: orm.Session) -> None:
    with pytest.raises(views.BadView, match="one line of 1 to 128"):
        views.save(db, name, "failed=1", author="ann")


def test_a_query_has_an_end(db: orm.Session) -> None:
    with pytest.raises(views.BadView, match="at most 4000"):
        views.save(db, "long", "x" * 4001, author="ann")


def test_there_are_not_too_many(db: orm.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_VIEWS", 1)
    views.save(db, "one", "a=1", author="ann")
    views.save(db, "one", "a=2", author="ann")
    with pytest.raises(views.BadView, match="remove one first"):
        views.save(db, "two", "a=1", author="ann")

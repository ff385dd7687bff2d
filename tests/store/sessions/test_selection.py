"""Where two selected sessions part."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import Bring, entry, windlass
from webapp.store.models import Session
from webapp.store.sessions import sessions


def key(db: orm.Session, external_id: str) -> str:
    return db.scalars(sa.select(Session.key).where(Session.external_id == external_id)).one()


def test_two_sessions_part_where_a_text_differs_or_one_ends(db: orm.Session, bring: Bring) -> None:
    for name, texts in {"a": ("x", "y"), "b": ("x", "z"), "c": ("x",), "d": ("x", "y")}.items():
        bring(windlass(name, [entry(text) for text in texts]))
    a, b, c, d = sessions.selected(db, [key(db, name) for name in "abcd"])
    assert sessions.parting(db, a, b) == sessions.Parting(1, 1, 1, False)
    assert sessions.parting(db, a, c) == sessions.Parting(1, 1, None, False)
    assert sessions.parting(db, a, d) == sessions.Parting(2, None, None, False)


def test_a_long_beginning_that_is_alike_is_not_compared_to_its_end(
    db: orm.Session, bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, texts in {"a": "1234", "b": "1235"}.items():
        bring(windlass(name, [entry(text) for text in texts]))
    monkeypatch.setattr(sessions, "COMPARED", 2)
    one, other = sessions.selected(db, [key(db, "a"), key(db, "b")])
    assert sessions.parting(db, one, other) == sessions.Parting(2, None, None, True)

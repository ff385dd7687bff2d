"""Selected sessions: found in order, deleted and brought back together, and compared."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import Bring
from webapp.store.models import Session
from webapp.store.sessions import deletion, selection
from webapp.store.sessions.sessions import NoSuchSession


def windlass(name: str, *texts: str) -> dict[str, Any]:
    entries = [{"timestamp": 1, "node_type": "agent", "role": "agent", "content": text} for text in texts]
    return {"session_id": name, "entries": entries}


def key(db: orm.Session, external_id: str) -> str:
    return db.scalars(sa.select(Session.key).where(Session.external_id == external_id)).one()


def test_sessions_are_found_in_the_order_given_and_once(db: orm.Session, bring: Bring) -> None:
    for name in ("a", "b"):
        bring(windlass(name, name))
    first, second = key(db, "a"), key(db, "b")
    found = selection.find(db, [second, "nobody", first, second])
    assert [session.external_id for session in found] == ["b", "a"]


def test_none_is_an_error(db: orm.Session, bring: Bring) -> None:
    bring(windlass("a", "a"))
    chosen = key(db, "a")
    deletion.delete(db, [chosen])
    for keys in ([], ["nobody"], [chosen]):
        with pytest.raises(NoSuchSession):
            selection.find(db, keys)


def test_what_was_deleted_together_is_a_batch(db: orm.Session, bring: Bring) -> None:
    for name in ("a", "b", "c"):
        bring(windlass(name, name))
    both, other = [key(db, "a"), key(db, "b")], key(db, "c")
    deletion.delete(db, both)
    deletion.delete(db, [other])
    moment = selection.deleted_at(db, both)
    assert moment is not None and sorted(selection.of_batch(db, moment)) == sorted(both)
    assert selection.deleted_at(db, ["nobody"]) is None


def test_two_sessions_part_where_a_text_differs_or_one_ends(db: orm.Session, bring: Bring) -> None:
    for name, texts in {"a": ("x", "y"), "b": ("x", "z"), "c": ("x",), "d": ("x", "y")}.items():
        bring(windlass(name, *texts))
    a, b, c, d = selection.find(db, [key(db, name) for name in "abcd"])
    assert selection.parting(db, a, b) == selection.Parting(1, 1, 1, False)
    assert selection.parting(db, a, c) == selection.Parting(1, 1, None, False)
    assert selection.parting(db, a, d) == selection.Parting(2, None, None, False)


def test_a_long_beginning_that_is_alike_is_not_compared_to_its_end(
    db: orm.Session, bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(windlass("a", "1", "2", "3", "4"))
    bring(windlass("b", "1", "2", "3", "5"))
    monkeypatch.setattr(selection, "COMPARED", 2)
    one, other = selection.find(db, [key(db, "a"), key(db, "b")])
    assert selection.parting(db, one, other) == selection.Parting(2, None, None, True)

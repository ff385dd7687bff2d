"""Which sessions a dump holds: each once, with how many turns it brought."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import Bring, entry, windlass
from webapp.store.models import Dump, DumpSession, Session
from webapp.store.sessions import dumps


def test_sessions_are_linked_once(bring: Bring, db: orm.Session) -> None:
    for name in ("a", "b"):
        bring(windlass(name, [entry("said")]), f"{name}.json")
    dump, _ = db.scalars(sa.select(Dump.id).order_by(Dump.id)).all()
    first, second = db.scalars(sa.select(Session.id).order_by(Session.id)).all()
    links = sa.select(DumpSession.session_id, DumpSession.new_turns).where(DumpSession.dump_id == dump)
    for _ in range(2):
        dumps.link(db.connection(), dump, {first: 0, second: 2})
    assert sorted(map(tuple, db.execute(links))) == [(first, 1), (second, 4)]
    db.execute(sa.delete(DumpSession).where(DumpSession.dump_id == dump, DumpSession.session_id == first))
    dumps.link(db.connection(), dump, {first: 0, second: 0})
    assert sorted(map(tuple, db.execute(links))) == [(first, 0), (second, 4)]

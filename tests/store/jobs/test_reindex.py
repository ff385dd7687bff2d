"""Reindexing: what is missing is made, once, as if it had been there."""

from __future__ import annotations

import contextlib
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.derived import everything
from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from tests.store.searching import found_in_all
from webapp.store.derive import reindex
from webapp.store.labels import labels
from webapp.store.models import Finding, Session, SessionFacet
from webapp.store.sessions import sessions, turns

QUERIES = ("needle", "one two*", "JSONDecodeError", "mangled", "zebra", "s1", "-x CALL*", '"run_code"')


def stored(bring: Bring, db: orm.Session) -> None:
    refused = entry("The tool call was refused: mangled", "validation_error")
    bring(windlass("s1", [entry("a needle", "turn_input"), entry(BROKEN), refused]))
    bring(windlass("s2", [entry("one twofold", "turn_input"), entry(CALL), entry(CALL, "turn_output")]))
    session = sessions.find(db, "s1")
    labels.put(db, turns.find(db, session, 1).turn, author="ann", judgement="missed", note="zebra")


def seen(db: orm.Session) -> list[Any]:
    found = [found_in_all(db.connection(), query) for query in QUERIES]
    db.rollback()
    return found


def bare(engine: sa.Engine) -> None:
    """Take away what is made of sessions."""
    with engine.begin() as connection:
        for table in (Finding, SessionFacet):
            connection.execute(sa.delete(table))
        connection.execute(sa.update(Session).values(stale=True, raw_bytes=0))


def derived(db: orm.Session) -> list[Any]:
    found = [everything(db, session) for session in db.scalars(sa.select(Session).order_by(Session.id))]
    db.rollback()
    return found


def test_what_is_missing_is_made_once(bring: Bring, engine: sa.Engine, db: orm.Session) -> None:
    stored(bring, db)
    before = derived(db)
    bare(engine)
    told: list[tuple[int, int]] = []
    assert reindex(engine, on_progress=lambda done, of: told.append((done, of))) == 2
    assert told == [(1, 2), (2, 2)]
    assert derived(db) == before
    assert reindex(engine) == 0


def test_one_that_was_interrupted_goes_on(bring: Bring, engine: sa.Engine, db: orm.Session) -> None:
    stored(bring, db)
    matches = seen(db)

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        reindex(engine, anew=True, on_progress=stop)
    assert reindex(engine) == 1
    assert seen(db) == matches

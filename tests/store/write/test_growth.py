"""The same session again: grown in place, repeated, or with another past."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.derived import everything
from tests.store.made import BROKEN, CALL, Bring, BringRecords, entry, on_sqlite, windlass
from webapp.dumps.records import SessionStart, Turn
from webapp.store.exports import session_dump
from webapp.store.models import Turn as StoredTurn
from webapp.store.sessions import sessions

FIRST = [entry("do it", "turn_input"), entry(CALL, model="m1", timestamp=100.0)]
MORE = [entry(BROKEN, model="m2", timestamp=200.0), entry(BROKEN, "turn_output", model="m2")]


def test_another_past_becomes_a_revision_beside_the_old_and_growth_finds_its_own(bring: Bring, db: orm.Session) -> None:
    old = bring(windlass("s1", FIRST))
    other = bring(windlass("s1", [entry("do that", "turn_input"), FIRST[1]]))
    assert (other.created, other.new) == (True, 1)
    assert [session.revision for session in sessions.revisions(db, "s1")] == [2, 1]
    assert (sessions.find(db, "s1").key, sessions.find(db, old.keys[0]).revision) == (other.keys[0], 1)
    grown = bring(windlass("s1", FIRST + MORE))
    assert (grown.created, grown.grown, grown.new, grown.new_turns, grown.keys) == (True, 1, 0, 2, old.keys)
    db.expire_all()
    assert [session.entry_count for session in sessions.revisions(db, "s1")] == [2, 4]


@on_sqlite
def test_our_own_dump_in_an_empty_store_is_the_session_again(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s1", FIRST + MORE))
    session = sessions.find(db, "s1")
    before = everything(db, session)
    document = b"".join(session_dump.stream(db, session)).replace(b'"session_id":"s1"', b'"session_id":"s2"')
    assert bring(document).created is True
    assert everything(db, sessions.find(db, "s2")) == before


@on_sqlite
def test_a_long_session_goes_through_a_file_and_grows(
    bring_records: BringRecords, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.dumps.sessions.MOST_TURNS", 20)
    start = SessionStart("long", "made-up")
    made = [
        Turn(number, "response", f"[{number}]", source={"content": None}, raw_at=("content",)) for number in range(46)
    ]
    bring_records(start, *made[:41], name="first")
    grown = bring_records(start, *made, name="second")
    assert (grown.grown, grown.new_turns) == (1, 5)
    session = sessions.find(db, "long")
    assert (session.turn_count, session.clean_count, session.strip) == (46, 46, "c" * 46)
    last = db.scalars(sa.select(StoredTurn).order_by(StoredTurn.ordinal.desc()).limit(1)).one()
    assert (last.raw, last.position) == ("[45]", 45)

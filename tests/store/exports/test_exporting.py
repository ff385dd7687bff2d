"""Labels that were exported and taken back by another store are the same there, and are exported the same again."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import CALL, Bring, entry, windlass
from webapp.store.exports import exporting
from webapp.store.labels import labels
from webapp.store.sessions import sessions, turns

DOCUMENT = windlass("s", [entry(CALL), entry('{"a": 1,}'), entry("none")])


def exported(db: orm.Session, name: str = "jsonl", **scope: Any) -> bytes:
    return b"".join(exporting.labels(db, name, scope="all labels", **scope))


def test_only_what_was_asked_for_goes_out(bring: Bring, db: orm.Session) -> None:
    bring(DOCUMENT, filename="s.json")
    turn = turns.find(db, sessions.find(db, "s"), 0).turn
    labels.put(db, turn, author="Ada", judgement="right", expects="none")
    assert exported(db, turn_ids=[turn.id]) and not exported(db, turn_ids=[turn.id + 1])
    assert exported(db, sessions=[turn.session_id]) and not exported(db, sessions=[])
    assert exported(db, sessions=range(turn.session_id, turn.session_id + 10_000))


def test_a_session_is_read_with_its_findings_and_labels(bring: Bring, db: orm.Session) -> None:
    bring(DOCUMENT, filename="s.json")
    session = sessions.find(db, "s")
    labels.put(db, turns.find(db, session, 1).turn, author="Ada", judgement="missed")
    page = b"".join(exporting.session(db, "html", session)).decode()
    assert "Labelled <b>missed</b> by Ada" in page and page.count("<li id=") == 3
    assert db.scalar(sa.select(sa.func.count()).select_from(labels.Label)) == 1

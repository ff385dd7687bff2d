"""Ingest: what a dump becomes in the database, again, grown, and with another past."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, BringRecords, entry, windlass
from webapp.dumps.records import BadDump, Problem, SessionStart, Turn
from webapp.store import dumps, sessions, turns
from webapp.store.models import Dump, Parse, ParseRepair, Session
from webapp.store.models import Turn as StoredTurn


def test_a_windlass_dump_becomes_a_session(bring: Bring, db: orm.Session) -> None:
    done = bring(windlass("s1", [entry("do it", "turn_input"), entry(CALL, model="m1"), entry(BROKEN, model="m1")]))
    assert (done.created, done.sessions, done.problems) == (True, ["s1"], [])
    assert (done.dump.state, done.dump.format, done.dump.turn_count) == ("done", "windlass", 3)
    session = sessions.find(db, "s1")
    assert session.key == done.keys[0]
    assert (session.turn_count, session.response_count, session.failed_count) == (3, 2, 1)
    assert session.home_profile == "windlass-strict"
    assert session.models == ["m1"]
    assert session.strip[0] == "e"
    assert session.strip[1] in "fs"

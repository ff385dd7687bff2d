"""Logs of several sessions of one length, and whether what is stored of them is whole."""

from __future__ import annotations

import json

import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import CALL, entry
from webapp.store.models import Parse, Session, Turn

SESSIONS, ENTRIES = 6, 20


def lines(sessions: int = SESSIONS, count: int = ENTRIES) -> bytes:
    """Windlass lines, one session behind the other."""
    entries = [
        entry(f"{number} {CALL}", session_id=f"s{number // count}", timestamp=float(number))
        for number in range(sessions * count)
    ]
    return b"".join(json.dumps(one).encode() + b"\n" for one in entries)


def all_whole(db: orm.Session) -> int:
    """The number of sessions, each of which has all its turns, parses and counters."""
    db.rollback()
    found = db.scalars(sa.select(Session)).all()
    for session in found:
        turns = sa.select(sa.func.count()).select_from(Turn).where(Turn.session_id == session.id)
        parses = sa.select(sa.func.count()).select_from(Parse).join(Turn, Turn.id == Parse.turn_id)
        assert (db.scalar(turns), session.turn_count, len(session.strip)) == (ENTRIES, ENTRIES, ENTRIES)
        profiles = {"fencepost", session.home_profile}
        assert db.scalar(parses.where(Turn.session_id == session.id)) == len(profiles) * ENTRIES
    return len(found)

"""Facets counted anew from the store are those that were counted while the session was written."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp.config import Settings
from webapp.store import derive
from webapp.store.db.database import writing
from webapp.store.jobs import replays
from webapp.store.models import Session
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import Filters

ENTRIES = [
    entry(BROKEN, model="m1", phase_name="plan"),
    entry("no", "validation_error"),
    entry(CALL, model="m2", phase_name="act"),
    entry(CALL, model="m2", phase_name="act"),
]
CHAT = [{"role": "assistant", "content": '{"a": 1,}', "model": "m3"}]


@pytest.fixture
def two(bring: Bring) -> None:
    bring(windlass("s", ENTRIES))
    bring(CHAT, filename="chat.json", home="fencepost")


def derived_state(db: orm.Session) -> list[object]:
    """What is derived of each session."""
    db.rollback()
    names = [column.name for column in Session.__table__.columns if column.name not in ("changed", "grown_at")]
    return [
        {name: getattr(session, name) for name in names}
        for session in db.scalars(sa.select(Session).order_by(Session.id))
    ]


def test_folded_anew_it_is_what_it_was(two: None, engine: sa.Engine, db: orm.Session) -> None:
    before = derived_state(db)
    numbers = db.scalars(sa.select(Session.id)).all()
    db.rollback()
    for number in numbers:
        with writing(engine) as connection:
            derive.derive(connection, [number])
    assert derived_state(db) == before


def test_a_replay_is_counted_under_its_profile(
    two: None, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    filters = Filters(verdict="failed", under="four-tier")
    assert sessions.page(db, filters).total == 0
    counts = replays.replay(engine, settings, "four-tier").counts
    db.rollback()
    verdicts = [session.facets["profiles"]["four-tier"]["verdicts"] for session in db.scalars(sa.select(Session))]
    assert [sum(column) for column in zip(*verdicts, strict=True)] == [
        counts[name] for name in ("clean", "extracted", "repaired", "failed", "none")
    ]
    assert sessions.page(db, filters).total == sum(found[3] > 0 for found in verdicts)

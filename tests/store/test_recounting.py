"""Facets counted anew from the store are those that were counted while the session was written."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp.store import recounting, runs, sessions
from webapp.store.database import writing
from webapp.store.filtering import Filters
from webapp.store.models import Session

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


def test_counted_anew_as_they_were_counted(two: None, engine: sa.Engine, db: orm.Session) -> None:
    for session in db.scalars(sa.select(Session)):
        with engine.connect() as connection:
            values = recounting.recounted(connection, session.id, session.home_profile)
        assert values == {"facets": session.facets, "raw_bytes": session.raw_bytes}


def test_what_an_older_version_wrote_is_counted(two: None, engine: sa.Engine, db: orm.Session) -> None:
    before = {session.key: session.facets for session in db.scalars(sa.select(Session))}
    with writing(engine) as connection:
        connection.execute(sa.update(Session).values(facets=None))
        assert recounting.backfill(connection) == 2
        assert recounting.backfill(connection) == 0
    db.expire_all()
    assert {session.key: session.facets for session in db.scalars(sa.select(Session))} == before


def test_a_replay_is_counted_under_its_profile(two: None, engine: sa.Engine, db: orm.Session) -> None:
    filters = Filters(verdict="failed", under="four-tier")
    assert sessions.page(db, filters).total == 0
    counts = runs.replay(engine, "four-tier").counts
    db.rollback()
    verdicts = [session.facets["profiles"]["four-tier"]["verdicts"] for session in db.scalars(sa.select(Session))]
    assert [sum(column) for column in zip(*verdicts, strict=True)] == [
        counts[name] for name in ("clean", "extracted", "repaired", "failed", "none")
    ]
    assert sessions.page(db, filters).total == sum(found[3] > 0 for found in verdicts)

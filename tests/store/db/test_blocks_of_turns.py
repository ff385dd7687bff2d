"""Revision 0020 indexes what PostgreSQL's index had of texts anew; where it is taken back, `db reindex` does."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.db.first_revision import downgrade
from tests.store.made import entry
from webapp.config import Settings
from webapp.store import search
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.jobs.reindex import lacking, reindex
from webapp.store.models import TURNS_A_SESSION, Session
from webapp.store.search.index import index_notes

SESSIONS = 45
"""more than are filled in at once"""


@pytest.fixture
def filled(blank: sa.Engine, tmp_path: Path) -> sa.Engine:
    lines = [
        json.dumps(entry(f"needle{number} in {'hay ' * turn}stack", session_id=f"s{number}", timestamp=float(turn)))
        for number in range(SESSIONS)
        for turn in range(3)
    ]
    settings = Settings(data=tmp_path / "data", database=blank.url.render_as_string(hide_password=False))
    ingest(blank, settings, io.BytesIO("\n".join(lines).encode()), filename="dump.jsonl")
    return blank


def hits(engine: sa.Engine, query: str) -> int:
    with engine.connect() as connection:
        return len(search.find(connection, query, limit=100, a_session=100).matches)


def test_what_was_indexed_is_found_after_the_upgrade(filled: sa.Engine) -> None:
    downgrade(filled, "0019")
    with filled.begin() as connection:
        rows = connection.execute(sa.select(Session.id, Session.external_id).order_by(Session.id)).all()
        indexed = rows[:-1]
        if filled.dialect.name == "postgresql":
            for row in indexed:
                index_notes(connection, search.session_notes(row.id, row.external_id, None))
                statement = sa.text("INSERT INTO search_raw VALUES (:id, 'old')")
                connection.execute(statement, {"id": row.id * TURNS_A_SESSION})
    steps: list[int] = []
    database.migrate(filled, lambda at: steps.append(at.done))
    has_all = filled.dialect.name == "sqlite"
    assert sorted(set(steps)) == ([] if has_all else [20, 40, 45])
    assert (hits(filled, "stack"), hits(filled, '"hay stack"')) == ((135, 90) if has_all else (132, 88))
    assert (hits(filled, "needle7"), hits(filled, "old")) == (3, 0)
    assert lacking(filled) == ([] if has_all else [rows[-1].id])


def test_taken_back_it_leaves_an_empty_index_that_says_so(filled: sa.Engine) -> None:
    downgrade(filled, "0019")
    if filled.dialect.name == "postgresql":
        assert len(lacking(filled)) == SESSIONS
    database.migrate(filled)
    reindex(filled)
    assert (hits(filled, "stack"), hits(filled, "needle7")) == (135, 3)
    with orm.Session(filled) as db:
        assert db.scalar(sa.select(sa.func.count()).select_from(Session)) == SESSIONS

"""A long session is gathered beside the database: the same rows, and others can write meanwhile."""

from __future__ import annotations

import io
import json
import random

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import CALL, entry
from webapp.config import Settings
from webapp.store import database, kept, search
from webapp.store.ingest import ingest
from webapp.store.models import Dump, Finding, Parse, ParseRepair, Session, SessionModel, Turn
from webapp.store.progress import Progress, Stopped

pytestmark = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
"""PostgreSQL has many writers: there a long session is written as its turns come."""

ENTRIES = 1200
TABLES = (Turn, Parse, ParseRepair, SessionModel, Finding)
OWN = ("microseconds", "trace", "facets", "ingested_at", "grown_at", "changed")
"""what differs each time: how long a parse took, and when"""


def dump() -> bytes:
    """One session: calls, broken ones, what was logged twice, and errors that speak of earlier responses."""
    chance = random.Random(4)
    entries = []
    for number in range(ENTRIES):
        kind, role = chance.choice(
            (("agent", "agent"), ("turn_output", "assistant"), ("validation_error", "user"), ("tool_result", "tool"))
        )
        text = chance.choice((CALL, '```json\n{"tool": "run", "arguments": {}}}}\n```', "zebra \ud800", f"No {number}"))
        entries.append(entry(text, session_id="long", node_type=kind, role=role, timestamp=float(number), model="m"))
    return b"".join(json.dumps(one).encode() + b"\n" for one in entries)


def rows(db: orm.Session) -> list[object]:
    """Every row of every table, but for what differs each time."""
    db.rollback()
    found: list[object] = []
    for model in (Session, *TABLES):
        columns = [column for column in model.__table__.c if column.name not in OWN]
        found += [tuple(row) for row in db.execute(sa.select(*columns).order_by(*model.__table__.primary_key))]
    return found


def searched(engine: sa.Engine) -> list[object]:
    """What the search finds, and the notes it holds."""
    with engine.connect() as connection:
        assert search.indexed(connection) == {1}
        words = connection.exec_driver_sql("SELECT rowid FROM search_raw WHERE search_raw MATCH 'zebra' ORDER BY rowid")
        notes = connection.exec_driver_sql("SELECT rowid, text FROM search_note ORDER BY rowid")
        return [*map(tuple, words), *map(tuple, notes)]


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session is long, and written a hundred turns at a time."""
    monkeypatch.setattr("webapp.store.intake._MOST_PREPARED", 0)
    monkeypatch.setattr("webapp.store.writing.MOST_TURNS", 100)


def test_a_long_session_is_stored_as_a_short_one(
    engine: sa.Engine, settings: Settings, db: orm.Session, request: pytest.FixtureRequest
) -> None:
    short = ingest(engine, settings, io.BytesIO(dump()), filename="long.jsonl")
    expected, words = rows(db), searched(engine)
    with database.writing(engine) as connection:
        search.clear(connection)
        for model in (*reversed(TABLES), Session, Dump):
            if model is Session:
                connection.exec_driver_sql("DELETE FROM dump_session")
            connection.execute(sa.delete(model))
    request.getfixturevalue("long")
    done = ingest(engine, settings, io.BytesIO(dump() + b"\n"), filename="long.jsonl")
    assert (done.new, done.new_turns, done.keys) == (1, short.new_turns, short.keys)
    columns = [[value for value in row if value != short.dump.id] for row in rows(db)]  # type: ignore[attr-defined]
    assert columns == [[value for value in row if value != short.dump.id] for row in expected]  # type: ignore[attr-defined]
    assert searched(engine) == words
    assert list(kept.incoming(settings.data).iterdir()) == []


@pytest.mark.usefixtures("long")
def test_others_write_while_a_long_session_is_read(
    engine: sa.Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrote: list[int] = []
    other = sa.create_engine(
        settings.database, connect_args={"timeout": 0.1} if engine.dialect.name == "sqlite" else {}
    )

    def tell(progress: Progress) -> None:
        if progress.turns == ENTRIES and progress.phase == "storing":
            with other.begin() as connection:
                wrote.append(connection.execute(sa.update(Dump).values(home="fencepost")).rowcount)

    monkeypatch.setattr("webapp.store.progress.EVERY", 0.0)
    done = ingest(engine, settings, io.BytesIO(dump()), filename="long.jsonl", watch=Progress(tell))
    other.dispose()
    assert done.new == 1
    assert len(wrote) >= ENTRIES // 100 and set(wrote) == {1}


@pytest.mark.usefixtures("long")
def test_what_is_stopped_within_leaves_nothing(
    engine: sa.Engine, settings: Settings, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.turns == ENTRIES and progress.phase == "storing":
            told.append(1)
            if len(told) == 5:
                raise Stopped(True)

    monkeypatch.setattr("webapp.store.progress.EVERY", 0.0)
    with pytest.raises(Stopped):
        ingest(engine, settings, io.BytesIO(dump()), filename="long.jsonl", watch=Progress(tell))
    assert db.scalar(sa.select(sa.func.count()).select_from(Turn)) == 0
    assert list(kept.incoming(settings.data).iterdir()) == []


@pytest.mark.usefixtures("long")
def test_a_long_session_that_somebody_else_brought_meanwhile_is_found(
    engine: sa.Engine, settings: Settings, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.turns == ENTRIES and progress.phase == "storing" and not others:
            others.append(1)
            other = ingest(engine, settings, io.BytesIO(dump() + b"\n"), filename="other.jsonl")
            assert other.new == 1

    monkeypatch.setattr("webapp.store.progress.EVERY", 0.0)
    done = ingest(engine, settings, io.BytesIO(dump()), filename="long.jsonl", watch=Progress(tell))
    assert (done.new, done.new_turns, done.sessions) == (0, 0, ["long"])
    assert db.scalar(sa.select(sa.func.count()).select_from(Session)) == 1

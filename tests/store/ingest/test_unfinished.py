"""A long session is written in parts: the same rows, others can write meanwhile, and nobody sees it before its end."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient
from sqlalchemy import orm

from tests.store.made import CALL, Bring, entry, windlass
from tests.store.searching import found_in_all
from webapp.app import create_app
from webapp.config import Settings
from webapp.dumps.records import SessionStart, Turn
from webapp.extensions import db as app_db
from webapp.store import search
from webapp.store.db import database
from webapp.store.ingest import dump_files, unfinished
from webapp.store.ingest.progress import Progress, Stopped
from webapp.store.ingest.start import ingest
from webapp.store.jobs import reindex, runs
from webapp.store.models import Dump, Finding, Parse, ParseRepair, Session, SessionModel
from webapp.store.models import Turn as StoredTurn
from webapp.store.sessions import deletion
from webapp.store.write.home import Home
from webapp.store.write.session_rows import SessionInput

ENTRIES = 1200
TABLES = (StoredTurn, Parse, ParseRepair, SessionModel, Finding)
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
    monkeypatch.setattr("webapp.store.ingest.dump_ingest._MOST_PREPARED", 0)
    monkeypatch.setattr("webapp.store.write.session_writer.MOST_TURNS", 100)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
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
    assert list(dump_files.incoming(settings.data).iterdir()) == []


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

    monkeypatch.setattr("webapp.store.ingest.progress.EVERY", 0.0)
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

    monkeypatch.setattr("webapp.store.ingest.progress.EVERY", 0.0)
    with pytest.raises(Stopped):
        ingest(engine, settings, io.BytesIO(dump()), filename="long.jsonl", watch=Progress(tell))
    assert db.scalar(sa.select(sa.func.count()).select_from(StoredTurn)) == 0
    assert list(dump_files.incoming(settings.data).iterdir()) == []


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

    monkeypatch.setattr("webapp.store.ingest.progress.EVERY", 0.0)
    done = ingest(engine, settings, io.BytesIO(dump()), filename="long.jsonl", watch=Progress(tell))
    assert (done.new, done.new_turns, done.sessions) == (0, 0, ["long"])
    assert db.scalar(sa.select(sa.func.count()).select_from(Session)) == 1


PAGES = (
    *(
        "/",
        "/list",
        "/?q=zebra",
        "/?model=m",
        "/?verdict=failed",
        "/?dump=1",
        "/labels",
        "/labels/progress",
        "/profiles",
    ),
    *("/statistics", "/dumps", "/dumps/1", "/compare?a=fencepost&b=direct", "/disagreements"),
    *("/api/sessions", "/api/sessions?q=zebra", "/api/sessions?model=m", "/api/labels", "/sessions/long"),
    *("/api/session/long", "/api/session/long/dump", "/sessions/long/turns/0", "/profiles/direct/responses"),
)
FRESH = re.compile(rb"\d+(\.\d+)? (ms|s|seconds?|minutes?) ago|just now|since=[\d%A:T-]+|nonce-[\w-]+|[\d.]+ ms")


@pytest.fixture
def client(engine: sa.Engine, settings: Settings) -> Iterator[FlaskClient]:
    app = create_app(settings)
    yield app.test_client()
    with app.app_context():
        app_db.engine.dispose()


def answers(client: FlaskClient) -> list[tuple[str, int, bytes]]:
    found = [client.get(path) for path in PAGES]
    return [(path, answer.status_code, FRESH.sub(b"", answer.data)) for path, answer in zip(PAGES, found, strict=True)]


def hidden(engine: sa.Engine) -> tuple[int, SessionInput]:
    """The dump that is there, and the long session as its format reads it."""
    with engine.connect() as connection:
        dump_id = connection.scalars(sa.select(Dump.id).order_by(Dump.id)).first() or 0
    turns = [
        Turn(number, "response", f"[{number}, zebra", model="m", source={"content": None}, raw_at=("content",))
        for number in range(250)
    ]
    return dump_id, SessionInput(
        SessionStart("long", "windlass", title="zebra"), turns, Home("windlass-strict", "format")
    )


@pytest.mark.usefixtures("long")
def test_nobody_sees_a_session_that_is_still_written(
    engine: sa.Engine, settings: Settings, client: FlaskClient, bring: Bring
) -> None:
    """Neither in the list, its counts and filters, nor by search, labels, statistics, the API or a page of its own."""
    bring(windlass("there", [entry(CALL, model="m"), entry("zebra")]))
    dump_id, given = hidden(engine)
    before = answers(client)
    with unfinished.written(engine, given, lambda _: dump_id) as session:
        for (path, *expected), (_, *found) in zip(before, answers(client), strict=True):
            assert found == expected, path
        assert reindex.lacking(engine) == []
        with engine.connect() as connection:
            assert not search.lacking(connection)
            assert len(found_in_all(connection, "zebra")) == 1
        assert runs.replay(engine, settings, "direct").counts["responses"] == 2
        assert reindex.refold_all(engine) == 1
        assert deletion.purge(engine) == 0
        with database.writing(engine) as connection:
            assert session.show(connection) is not None
    after = {path: (status, data) for path, status, data in answers(client)}
    assert after["/sessions/long"][0] == after["/api/session/long"][0] == 200
    assert b"2" in after["/api/sessions?model=m"][1] and len(json.loads(after["/api/sessions"][1])["sessions"]) == 2


@pytest.mark.usefixtures("long")
def test_what_a_killed_ingest_left_is_purged(
    engine: sa.Engine, db: orm.Session, bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(windlass("there", [entry(CALL)]))
    dump_id, given = hidden(engine)
    monkeypatch.setattr(deletion, "discard", lambda *_: None)
    with unfinished.written(engine, given, lambda _: dump_id):
        pass
    assert db.scalar(sa.select(sa.func.count()).select_from(StoredTurn)) == 251
    db.rollback()
    assert deletion.purge(engine) == 0
    assert deletion.purge(engine, older_than=timedelta(seconds=-1)) == 1
    assert db.scalar(sa.select(sa.func.count()).select_from(StoredTurn)) == 1
    with engine.connect() as connection:
        assert found_in_all(connection, "zebra") == []

"""Ingest killed in the middle, and two at once: a session is there whole or not at all, and only once."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests import forking
from tests.store.jobs.workers import disconnected, until
from tests.store.made import CALL, entry
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import IngestResult, ingest
from webapp.store.models import Dump, Parse, Session, Turn
from webapp.store.sessions import dumps

SESSIONS, ENTRIES = 6, 100

CHILD = """
import sys
from pathlib import Path
from webapp.config import Settings
from webapp.store import derive
from webapp.store.ingest import dump_ingest, result
from webapp.store.db import database
from webapp.store.ingest.start import ingest

data, url, dump, where = sys.argv[1:]

def wait():
    print("waiting", flush=True)
    sys.stdin.read()

dump_ingest.MOST_SESSIONS = 1
if where == "between":
    result.EVERY = 0.0
    watch = result.Progress(lambda watch: wait() if watch.turns >= 400 else None)
else:
    watch = None
    made = derive.derive
    def late(*rows):
        late.calls += 1
        if late.calls == 4:
            wait()
        made(*rows)
    late.calls = 0
    derive.derive = late
engine = database.connect(url)
with open(dump, "rb") as stream:
    ingest(engine, Settings(data=Path(data), database=url), stream, filename="dump.jsonl", watch=watch)
"""


def lines() -> bytes:
    """Windlass lines of six sessions of a hundred entries, one behind the other."""
    entries = [
        entry(f"{number} {CALL}", session_id=f"s{number // ENTRIES}", timestamp=float(number))
        for number in range(SESSIONS * ENTRIES)
    ]
    return b"".join(json.dumps(one).encode() + b"\n" for one in entries)


@pytest.mark.parametrize("where", ["between", "inside"])
def test_killed_and_started_again(
    where: str, engine: sa.Engine, settings: Settings, db: orm.Session, tmp_path: Path
) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_bytes(lines())
    arguments = [str(settings.data), settings.database, str(path), where]
    with forking.script(CHILD, *arguments) as child:
        assert child.stdout.readline() == b"waiting\n"
        assert until(lambda: one_is_stored(db))
        child.kill()
    disconnected(engine)
    assert db.scalars(sa.select(Dump.state)).all() == ["reading"]
    stored = all_whole(db)
    assert 0 < stored < SESSIONS
    db.rollback()
    with path.open("rb") as stream:
        done = ingest(engine, settings, stream, filename="dump.jsonl")
    assert (done.created, len(done.sessions), done.new) == (True, SESSIONS, SESSIONS - stored)
    assert all_whole(db) == SESSIONS
    assert db.scalars(sa.select(Dump.state)).all() == ["done"]
    (line,) = dumps.page(db)
    assert (line.session_count, line.turn_count, len(line.sessions)) == (SESSIONS, SESSIONS * ENTRIES, SESSIONS)


def one_is_stored(db: orm.Session) -> bool:
    """Whether a session is seen: on PostgreSQL other threads commit what was read before the child waits."""
    db.rollback()
    return bool(db.scalar(sa.select(sa.func.count()).select_from(Session)))


def all_whole(db: orm.Session) -> int:
    """The number of sessions, each of which has all its turns, parses and counters."""
    found = db.scalars(sa.select(Session)).all()
    for session in found:
        turns = sa.select(sa.func.count()).select_from(Turn).where(Turn.session_id == session.id)
        parses = sa.select(sa.func.count()).select_from(Parse).join(Turn, Turn.id == Parse.turn_id)
        assert db.scalar(turns) == ENTRIES
        assert db.scalar(parses.where(Turn.session_id == session.id)) == 2 * ENTRIES
        assert (session.turn_count, len(session.strip)) == (ENTRIES, ENTRIES)
    return len(found)


def together(*jobs: tuple[Settings, bytes]) -> list[IngestResult]:
    """Each job in a thread with an engine of its own, all begun at once."""
    results: list[IngestResult] = []
    begin = threading.Barrier(len(jobs))

    def run(settings: Settings, data: bytes) -> None:
        engine = database.connect(settings.database)
        try:
            begin.wait()
            results.append(ingest(engine, settings, io.BytesIO(data), filename="dump.jsonl"))
        finally:
            engine.dispose()

    threads = [threading.Thread(target=run, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_the_same_file_by_two_at_once(engine: sa.Engine, settings: Settings, db: orm.Session) -> None:
    results = together((settings, lines()), (settings, lines()), (settings, lines()))
    assert sorted(done.created for done in results) == [False, False, True]
    assert len({done.dump.id for done in results}) == 1
    assert {tuple(done.keys) for done in results} == {tuple(results[0].keys)}
    assert all_whole(db) == SESSIONS
    assert [path.name for path in settings.data.rglob("*.lock")] == []


def test_the_same_sessions_in_two_files_at_once(engine: sa.Engine, settings: Settings, db: orm.Session) -> None:
    """Other bytes, the same sessions: each session is stored once, by whichever came first."""
    results = together((settings, lines()), (settings, lines() + b"\n"))
    assert sum(done.new for done in results) == SESSIONS
    assert all_whole(db) == SESSIONS
    assert db.scalars(sa.select(Dump.state)).all() == ["done", "done"]

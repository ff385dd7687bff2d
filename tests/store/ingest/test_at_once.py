"""Two ingests at once: a session is there whole, and only once. Those that are killed are in `jobs/test_imports`."""

from __future__ import annotations

import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import entry
from tests.store.whole import SESSIONS, all_whole, lines
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import IngestResult, ingest
from webapp.store.models import Dump


def together(*jobs: tuple[Settings, bytes]) -> list[IngestResult]:
    """Each job in a thread with an engine of its own, all begun at once."""
    begin = threading.Barrier(len(jobs))

    def run(job: tuple[Settings, bytes]) -> IngestResult:
        engine = database.connect(job[0].database)
        try:
            begin.wait()
            return ingest(engine, job[0], io.BytesIO(job[1]), filename="dump.jsonl")
        finally:
            engine.dispose()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


def test_the_same_file_by_two_at_once(engine: sa.Engine, settings: Settings, db: orm.Session) -> None:
    results = together((settings, lines()), (settings, lines()), (settings, lines()))
    assert sorted(done.created for done in results) == [False, False, True]
    assert len({done.dump.id for done in results}) == 1
    assert {tuple(done.keys) for done in results} == {tuple(results[0].keys)}
    assert all_whole(db) == SESSIONS
    assert [path.name for path in settings.data.rglob("*.lock")] == []


def test_the_same_sessions_in_two_files_at_once(engine: sa.Engine, settings: Settings, db: orm.Session) -> None:
    """Other bytes, the same sessions: each session is stored once, by whichever came first.

    They differ from the first byte on: a file that begins as a stored one is that one, grown.
    """
    results = together((settings, lines()), (settings, b"\n" + lines()))
    assert sum(done.new for done in results) == SESSIONS
    assert all_whole(db) == SESSIONS
    assert db.scalars(sa.select(Dump.state)).all() == ["done", "done"]


AT_ONCE, EACH = 8, 20


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_more_dumps_at_once_than_there_are_connections(engine: sa.Engine, settings: Settings) -> None:
    small = database.connect(settings.database, pool=1)

    def bring(number: int) -> int:
        lines = ({"session_id": f"{number}-{line // 20}", **entry(f"{line}")} for line in range(20 * EACH))
        stream = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
        return len(ingest(small, settings, stream, filename=f"{number}.jsonl").keys)

    try:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            assert list(threads.map(bring, range(AT_ONCE))) == [EACH] * AT_ONCE
    finally:
        small.dispose()

"""Two ingests at once: a session is there whole, and only once. Those that are killed are in `jobs/test_imports`."""

from __future__ import annotations

import io
import threading

import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.whole import SESSIONS, all_whole, lines
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import IngestResult, ingest
from webapp.store.models import Dump


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

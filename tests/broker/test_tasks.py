"""Each task by itself, as a message over RabbitMQ or Redis brings it, in a worker that is a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from tests.broker.celery_worker import AT_ONCE, SESSIONS, celery, state, stored, upload
from tests.store.jobs import exporting
from tests.store.jobs.workers import silent, until
from webapp.broker import tasks
from webapp.broker.sending import Messenger
from webapp.config import Settings
from webapp.store import search
from webapp.store.db import locks
from webapp.store.jobs import export_jobs, jobs, reindex, run_queue, runs, worker
from webapp.store.models import Finding, Job, Parse, Run, RunChunk, Session
from webapp.store.sessions.filters import Filters

pytestmark = pytest.mark.postgres
Send = Callable[..., None]


@pytest.fixture
def filled(engine: sa.Engine, settings: Settings) -> None:
    """The dump is read, by no broker, into an index that has nothing of other tests."""
    with engine.begin() as connection:
        search.clear(connection)
    upload(engine, settings)
    worker.work(engine, settings)
    assert count(engine, Session) == SESSIONS


@pytest.fixture
def send(settings: Settings) -> Send:
    app = tasks.app(settings)
    return lambda name, *args, **options: app.send_task(name, args, options)


def count(engine: sa.Engine, table: type[Session] | type[Finding] | type[Parse], *where: sa.ColumnElement[bool]) -> int:
    with engine.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(table).where(*where)) or 0


def words(engine: sa.Engine) -> int:
    """How many turns the search index has words of."""
    with engine.connect() as connection:
        query = "SELECT count(*) FROM search_raw WHERE length(words) > 0"
        return int(connection.exec_driver_sql(query).scalar_one())


def is_idle(engine: sa.Engine) -> bool:
    """Whether the last reindexing has given its lock back."""
    with locks.alone(engine, "reindex") as mine:
        return mine


def begun(
    engine: sa.Engine, settings: Settings, profile: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, list[int]]:
    """A run that is cut into chunks, of which nobody knows; its number and where its chunks begin."""
    monkeypatch.setattr("webapp.store.jobs.response_chunks.AT_ONCE", AT_ONCE)
    run = run_queue.queue(engine, profile)
    runs.start(engine, run, settings)
    with engine.connect() as connection:
        return run, list(
            connection.scalars(sa.select(RunChunk.low).where(RunChunk.run_id == run).order_by(RunChunk.low))
        )


def test_an_export_is_written_once_though_its_message_comes_twice(
    engine: sa.Engine, settings: Settings, filled: None, send: Send
) -> None:
    number = export_jobs.ask(engine, settings, export_jobs.of_filters(Filters()))
    with celery(settings):
        for _ in range(2):
            send(tasks.EXPORT, number)
        assert until(lambda: not exporting.find(engine, number).live)
    job = exporting.find(engine, number)
    assert (job.state, job.tries) == ("done", 0)
    assert len(exporting.names(exporting.content(settings, job))) == SESSIONS
    assert len(exporting.files(settings)) == 1


def test_an_export_of_a_killed_worker_is_written_by_the_next(
    engine: sa.Engine, settings: Settings, filled: None
) -> None:
    """The first one claimed it and is gone; the messenger says again what nobody has."""
    number = export_jobs.ask(engine, settings, export_jobs.of_filters(Filters()))
    assert jobs.take(engine, "gone:1:aa", number) == number
    (settings.data / "dumps" / "incoming" / f"export-{number}-left").write_bytes(b"half a zip")
    silent(engine)
    with celery(settings):
        assert Messenger(settings, engine).tell()
        assert until(lambda: not exporting.find(engine, number).live)
    job = exporting.find(engine, number)
    assert (job.state, job.tries) == ("done", 1)
    assert len(exporting.names(exporting.content(settings, job))) == SESSIONS
    assert len(exporting.files(settings)) == 1


def test_an_export_whose_time_is_over_is_purged(
    engine: sa.Engine, settings: Settings, filled: None, send: Send
) -> None:
    job = exporting.exported(engine, settings, export_jobs.of_filters(Filters()))
    with engine.begin() as connection:
        past = (job.result or {}) | {"expires_at": "2020-01-01T00:00:00+00:00"}
        connection.execute(sa.update(Job).where(Job.id == job.id).values(result=past))
    with celery(settings):
        send(tasks.PURGE)
        assert until(lambda: exporting.find(engine, job.id).state == "removed" and not exporting.files(settings))


def test_a_chunk_is_replayed_and_no_other(
    engine: sa.Engine, settings: Settings, filled: None, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, lows = begun(engine, settings, "windlass-eager", monkeypatch)
    assert len(lows) == SESSIONS
    of_profile = Parse.profile == "windlass-eager"
    with celery(settings):
        for _ in range(2):
            send(tasks.REPLAY_CHUNK, run, lows[3], lows[4])
        assert until(lambda: stored(engine) == 1)
        send(tasks.REPLAY_CHUNK, run, lows[0], lows[1])
        assert until(lambda: stored(engine) == 2)
        assert count(engine, Parse, of_profile) == 2 * AT_ONCE
        assert state(engine, Run) == "running"
        for low in lows:
            send(tasks.REPLAY_CHUNK, run, low, low + 1)
        assert until(lambda: state(engine, Run) == "done")
    assert count(engine, Parse, of_profile) == SESSIONS * AT_ONCE
    with engine.connect() as connection:
        counts = connection.scalars(sa.select(Run.counts)).one()
    assert counts is not None and counts["responses"] == SESSIONS * AT_ONCE


def test_reindexing_fills_in_what_is_missing(engine: sa.Engine, settings: Settings, filled: None, send: Send) -> None:
    """And with `anew` mends what looks whole, with `findings` makes those again."""
    before, found = words(engine), count(engine, Finding)
    assert before and found
    with celery(settings):
        with engine.begin() as connection:
            search.clear(connection)
            connection.execute(sa.update(Session).values(facets=None))
        assert len(reindex.lacking(engine)) == SESSIONS
        send(tasks.REINDEX)
        assert until(lambda: not reindex.lacking(engine)) and words(engine) == before
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE search_raw SET words = ''")
        assert words(engine) == 0 and reindex.lacking(engine) == []
        assert until(lambda: is_idle(engine))
        send(tasks.REINDEX, anew=True)
        assert until(lambda: words(engine) == before)
        with engine.begin() as connection:
            connection.execute(sa.delete(Finding))
        assert until(lambda: is_idle(engine))
        send(tasks.REINDEX, findings=True)
        assert until(lambda: count(engine, Finding) == found)


def test_two_do_not_reindex_at_once(engine: sa.Engine, settings: Settings, filled: None) -> None:
    """Redis sends again what takes longer than an hour: the second would clear what the first has filled in."""
    before = words(engine)
    task = tasks.app(settings).tasks[tasks.REINDEX]
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE search_raw SET words = ''")
    with locks.alone(engine, "reindex") as is_mine:
        assert is_mine
        task.apply(kwargs={"anew": True}, throw=True)
        assert words(engine) == 0
    task.apply(kwargs={"anew": True}, throw=True)
    assert words(engine) == before


def test_what_was_deleted_long_ago_is_purged_and_nothing_else(
    engine: sa.Engine, settings: Settings, filled: None, send: Send
) -> None:
    with engine.begin() as connection:
        first, second = connection.scalars(sa.select(Session.id).order_by(Session.id).limit(2))
        for number, hours in ((first, 2), (second, 0)):
            deleted_at = datetime.now(UTC) - timedelta(hours=hours)
            connection.execute(sa.update(Session).where(Session.id == number).values(deleted_at=deleted_at))
    with celery(settings):
        send(tasks.PURGE)
        assert until(lambda: count(engine, Session, Session.id == first) == 0)
    assert count(engine, Session) == SESSIONS - 1


def test_what_nobody_was_told_of_is_caught_up_with(engine: sa.Engine, settings: Settings, send: Send) -> None:
    upload(engine, settings)
    run_queue.queue(engine, "direct")
    with celery(settings):
        send(tasks.CATCH_UP)
        assert until(lambda: state(engine, Run) == "done")
    assert count(engine, Session) == SESSIONS

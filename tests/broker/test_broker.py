"""Workers that a broker tells what waits: RabbitMQ and Redis as they are, each test with a queue of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa
from kombu import Connection
from sqlalchemy import orm

from tests.store.conftest import db, engine, postgres  # noqa: F401
from tests.store.jobs.workers import ROOT, silent, until
from tests.store.made import BROKEN, entry
from webapp.broker import tasks
from webapp.broker.sending import Messenger
from webapp.config import BadSetting, Settings
from webapp.store.jobs import jobs, run_queue, worker
from webapp.store.models import Job, Parse, Run, RunChunk, Session

pytestmark = pytest.mark.postgres
SERVER = "postgresql+psycopg://root@127.0.0.1:5432"
BROKERS = {"rabbitmq": "amqp://guest:guest@127.0.0.1:5672//", "redis": "redis://127.0.0.1:6379/9"}
SESSIONS, AT_ONCE = 12, 10
CHILD = f"""
from webapp.commands.work import work_on
from webapp.config import Settings
from webapp.store.jobs import response_chunks

response_chunks.AT_ONCE = {AT_ONCE}
work_on(Settings.from_environment(), 2)
"""


@pytest.fixture
def url(postgres: str) -> str:  # noqa: F811
    return f"{SERVER}/{postgres}"


@pytest.fixture(params=list(BROKERS))
def settings(request: pytest.FixtureRequest, url: str, tmp_path) -> Iterator[Settings]:  # type: ignore[no-untyped-def]
    """With a queue of its own, that is removed; skipped where the broker does not answer, failing then under CI."""
    broker, queue = BROKERS[request.param], f"fencepost-test-{uuid.uuid4().hex[:12]}"
    with Connection(broker, connect_timeout=3) as connection:
        try:
            connection.ensure_connection(max_retries=1, timeout=3)
        except OSError as error:
            if os.environ.get("CI") == "true":
                pytest.fail(f"no {request.param} on 127.0.0.1 under CI: {error}")
            pytest.skip(f"needs {request.param} on 127.0.0.1")
        yield Settings(data=tmp_path / "data", database=url, home="direct", broker=broker, queue=queue)
        with contextlib.suppress(Exception):
            connection.default_channel.queue_delete(queue)


@contextlib.contextmanager
def celery(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """A worker with two processes, all of which are killed in the end."""
    broker = {"FENCEPOST_BROKER": settings.broker or "", "FENCEPOST_QUEUE": settings.queue}
    environ = {**os.environ, **settings.environment(), **broker, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", CHILD], cwd=ROOT, env=environ, start_new_session=True)
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def upload(engine: sa.Engine, settings: Settings) -> int:  # noqa: F811
    lines = (
        json.dumps(entry(f"{n} {BROKEN}", session_id=f"s{n // AT_ONCE}")).encode() for n in range(SESSIONS * AT_ONCE)
    )
    path = jobs.own(settings, io.BytesIO(b"\n".join(lines)))
    return jobs.make(engine, settings, filename="a.jsonl", path=path)


def state(engine: sa.Engine, table: type[Job] | type[Run]) -> str | None:  # noqa: F811
    with engine.connect() as connection:
        return connection.scalar(sa.select(table.state))


def stored(engine: sa.Engine) -> int:  # noqa: F811
    with engine.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).where(RunChunk.state == "done")) or 0


def test_a_dump_is_read_and_a_run_goes_on_behind_a_killed_worker(
    engine: sa.Engine,  # noqa: F811
    settings: Settings,
    db: orm.Session,  # noqa: F811
) -> None:
    upload(engine, settings)
    assert Messenger(settings, engine).tell()
    with celery(settings) as first:
        assert until(lambda: state(engine, Job) == "done")
        run_queue.queue(engine, "windlass-balanced")
        Messenger(settings, engine).tell()
        assert until(lambda: stored(engine) >= 2 or state(engine, Run) == "done")
        kill(first)
    silent(engine)
    with celery(settings):
        Messenger(settings, engine).tell()
        assert until(lambda: state(engine, Run) == "done")
    run = db.scalars(sa.select(Run)).one()
    count = sa.select(sa.func.count()).where(Parse.profile == "windlass-balanced")
    assert (run.counts or {})["responses"] == db.scalar(count) == SESSIONS * AT_ONCE
    facets = [session.facets["profiles"]["windlass-balanced"]["verdicts"] for session in db.scalars(sa.select(Session))]
    assert [sum(verdicts) for verdicts in facets] == [AT_ONCE] * SESSIONS


def test_a_message_that_comes_twice_changes_nothing(
    engine: sa.Engine,  # noqa: F811
    settings: Settings,
) -> None:
    number = upload(engine, settings)
    for _ in range(3):
        assert Messenger(settings, engine).tell()
    with celery(settings):
        assert until(lambda: state(engine, Job) == "done")
        tasks.app(settings).send_task(tasks.READ_DUMP, [number])
        run = run_queue.queue(engine, "direct")
        for _ in range(2):
            tasks.app(settings).send_task(tasks.BEGIN_RUN, [run])
        assert until(lambda: state(engine, Run) == "done")
    with engine.connect() as connection:
        assert connection.scalar(sa.select(Job.tries)) == 0
        counts = connection.scalars(sa.select(Run.counts)).one()
    assert counts is not None and counts["responses"] == SESSIONS * AT_ONCE


def test_without_its_broker_work_waits_and_the_rows_are_enough(
    engine: sa.Engine,  # noqa: F811
    settings: Settings,
) -> None:
    upload(engine, settings)
    scheme = (settings.broker or "").partition("://")[0]
    assert Messenger(replace(settings, broker=f"{scheme}://127.0.0.1:9/0"), engine).tell() is False
    assert state(engine, Job) == "queued"
    worker.work(engine, settings)
    assert state(engine, Job) == "done"


def test_the_setting_says_what_it_takes(url: str) -> None:
    with pytest.raises(BadSetting, match="takes amqp"):
        Settings.from_environment({"FENCEPOST_BROKER": "kafka://h", "FENCEPOST_DATABASE": url})
    with pytest.raises(BadSetting, match="needs FENCEPOST_DATABASE on PostgreSQL"):
        Settings.from_environment({"FENCEPOST_BROKER": "amqp://h"})

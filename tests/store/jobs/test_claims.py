"""Jobs are claimed: each by one worker, for as long as that gives signs of life by the database's clock."""

from __future__ import annotations

import contextlib
import io
import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.jobs import workers
from tests.store.made import CALL, entry
from webapp.config import BadSetting, Settings
from webapp.store.db import database
from webapp.store.ingest.progress import Progress
from webapp.store.jobs import jobs, worker
from webapp.store.jobs.heartbeat import Heartbeat, of_job
from webapp.store.models import Dump, Job, Session

MINE, OTHER = "one:1:aa", "two:2:bb"


def lines(name: str, count: int = 40) -> bytes:
    entries = (entry(f"{number} {CALL}", session_id=f"{name}-{number % 4}") for number in range(count))
    return b"".join(json.dumps(one).encode() + b"\n" for one in entries)


def make(engine: sa.Engine, settings: Settings, name: str = "a") -> int:
    path = jobs.own(settings, io.BytesIO(lines(name)))
    return jobs.make(engine, settings, filename=f"{name}.jsonl", path=path)


def find(engine: sa.Engine, number: int) -> jobs.JobLine:
    with engine.connect() as connection:
        return jobs.find(connection, number)


def is_postgres(engine: sa.Engine) -> bool:
    return engine.dialect.name == "postgresql"


def test_a_job_that_a_worker_has_is_nobody_elses(engine: sa.Engine, settings: Settings) -> None:
    """On PostgreSQL, that is: on SQLite who asks is the only worker, and what runs was left behind."""
    number = make(engine, settings)
    assert jobs.take(engine, OTHER) == number
    if is_postgres(engine):
        assert jobs.take(engine, MINE) is None and jobs.take(engine, MINE, number) is None
        assert not worker.is_work_free(engine, settings)
        workers.silent(engine)
    assert worker.is_work_free(engine, settings)
    assert jobs.take(engine, MINE, number) == number
    job = find(engine, number)
    assert (job.state, job.owner, job.tries) == ("running", MINE, 1)


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_many_take_each_another_job(engine: sa.Engine, settings: Settings) -> None:
    numbers = {make(engine, settings, str(number)) for number in range(8)}
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda name: jobs.take(engine, name), "abcdefgh")) == numbers


def test_who_lost_a_job_neither_ends_it_nor_puts_it_back(engine: sa.Engine, settings: Settings) -> None:
    number = make(engine, settings)
    jobs.take(engine, OTHER)
    workers.silent(engine)
    jobs.take(engine, MINE)
    job = find(engine, number)
    assert jobs.end(engine, settings, job, "done", {}, None, owner=OTHER) is False
    jobs.put_back(engine, number, OTHER)
    assert find(engine, number).owner == MINE and (settings.data / "dumps" / "incoming" / job.spooled).exists()
    theirs, mine = Heartbeat(engine, number, OTHER), Heartbeat(engine, number, MINE)
    for heartbeat in (theirs, mine):
        heartbeat.tell(Progress())
    assert theirs.lost and not mine.lost


def test_a_sign_of_life_says_how_far_it_is(engine: sa.Engine, settings: Settings) -> None:
    number = make(engine, settings)
    jobs.take(engine, MINE)
    workers.silent(engine)
    with of_job(engine, number, MINE) as heartbeat:
        heartbeat.tell(Progress(phase="storing", read=3, bytes=9, turns=2))
        heartbeat.beat()
        assert (find(engine, number).progress["read"], heartbeat.cancelled) == (3, False)
        assert jobs.take(engine, OTHER) is None or not is_postgres(engine)


def test_the_wish_to_stop_is_heard_though_somebody_writes_without_a_pause(
    engine: sa.Engine, settings: Settings
) -> None:
    number = make(engine, settings)
    jobs.take(engine, MINE)
    heartbeat = Heartbeat(engine, number, MINE)
    jobs.cancel(engine, number)
    with database.writing(engine):
        heartbeat.tell(Progress(phase="storing"))
    assert heartbeat.cancelled


def test_a_worker_that_loses_its_job_stops(
    engine: sa.Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was cut off for long: what the other one does is neither ended nor put back by it."""
    number = make(engine, settings)
    jobs.take(engine, MINE)
    tell = Heartbeat.tell

    def cut_off(self: Heartbeat, progress: Progress) -> None:
        tell(self, progress)
        if progress.phase == "keeping":
            workers.silent(engine)
            jobs.take(engine, OTHER)
            tell(self, progress)

    monkeypatch.setattr(Heartbeat, "tell", cut_off)
    worker.do(engine, settings, number, MINE, lambda: False)
    assert (find(engine, number).state, find(engine, number).owner) == ("running", OTHER)


@pytest.fixture
def three(settings: Settings) -> Iterator[list[workers.Process]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(workers.ending(workers.start(settings, "--stay"))) for _ in range(3)]


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_three_processes_share_the_jobs_and_one_is_killed(
    engine: sa.Engine, settings: Settings, three: list[workers.Process], db: orm.Session
) -> None:
    numbers = [make(engine, settings, str(number)) for number in range(9)]
    assert workers.until(lambda: any(find(engine, number).owner for number in numbers))
    three[0].kill()
    pid = f":{three[0].pid}:"
    assert workers.until(lambda: all(not job.live or pid in (job.owner or "") for job in all_of(engine)))
    workers.silent(engine, three[0].pid)
    assert workers.until(lambda: all(not job.live for job in all_of(engine)))
    assert {job.state for job in all_of(engine)} == {"done"} and sum(job.tries for job in all_of(engine)) <= 1
    assert sorted(db.scalars(sa.select(Session.turn_count))) == [10] * 36
    assert {tuple(row) for row in db.execute(sa.select(Dump.state, Dump.turn_count))} == {("done", 40)}
    for process in three[1:]:
        assert workers.until(lambda process=process: workers.handles(process, signal.SIGTERM))  # type: ignore[misc]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def all_of(engine: sa.Engine) -> list[jobs.JobLine]:
    with engine.connect() as connection:
        return [jobs.find(connection, number) for number in connection.scalars(sa.select(Job.id))]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_sqlite_has_the_worker_of_its_server_alone(settings: Settings) -> None:
    with workers.start(settings, "--stay") as process:
        assert process.wait(60) == 2


@pytest.mark.parametrize("role", ["web", "worker"])
def test_roles_need_postgresql(role: str) -> None:
    with pytest.raises(BadSetting, match="needs FENCEPOST_DATABASE on PostgreSQL"):
        Settings.from_environment({"FENCEPOST_ROLE": role})
    shared = {"FENCEPOST_ROLE": role, "FENCEPOST_DATABASE": "postgresql+psycopg://h/n"}
    assert Settings.from_environment(shared).role == role
    with pytest.raises(BadSetting, match="all-in-one, web or worker, not 'boss'"):
        Settings.from_environment({"FENCEPOST_ROLE": "boss"})

"""A run is cut into chunks that workers share: a killed worker costs a chunk, never a number."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests import forking
from tests.forking import ForkedProcess
from tests.store.jobs.test_runs import all_rows
from tests.store.jobs.workers import ending, silent, until
from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp.config import Settings
from webapp.store import derive
from webapp.store.jobs import chunk_writing, response_chunks, run_chunks, run_queue, runs
from webapp.store.models import Parse, Run, RunChunk, Session

SESSIONS, LONG, AT_ONCE = 12, 60, 10
TOTAL = SESSIONS * AT_ONCE + LONG
MINE, OTHER = "one:1:aa", "two:2:bb"
CHILD = f"""
import sys
from pathlib import Path
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.jobs import response_chunks, worker

data, url = sys.argv[1:]
response_chunks.AT_ONCE = {AT_ONCE}
worker.processors = lambda: 1
work = worker.work if url.startswith("sqlite") else worker.work_on
work(database.connect(url), Settings(data=Path(data), database=url), lambda: False)
"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_chunks, "AT_ONCE", AT_ONCE)


@pytest.fixture
def stored(bring: Bring) -> None:
    """Sessions of a chunk each, and one of several."""
    texts = [BROKEN, CALL, "{}", "no JSON"]
    for number in range(SESSIONS):
        bring(windlass(f"s{number}", [entry(texts[(number + at) % 4]) for at in range(AT_ONCE)]))
    bring(windlass("long", [entry(texts[at % 4]) for at in range(LONG)]))


def start(settings: Settings) -> ForkedProcess:
    return forking.script(CHILD, str(settings.data), settings.database)


def value(engine: sa.Engine, query: sa.Select[Any]) -> Any:
    with engine.connect() as connection:
        return connection.scalar(query)


def finished(engine: sa.Engine) -> int:
    """Chunks that were stored; those of a run that is done are gone."""
    if value(engine, sa.select(Run.state)) == "done":
        return TOTAL // AT_ONCE
    return int(value(engine, sa.select(sa.func.count()).where(RunChunk.state == "done")))


def assert_exact(engine: sa.Engine, profile: str) -> None:
    """The run, the counters and the facets are what is counted anew of the stored parses."""
    with engine.connect() as connection:
        run = connection.execute(sa.select(Run.__table__)).one()
        verdicts = sa.select(Parse.verdict, sa.func.count()).where(Parse.profile == profile).group_by(Parse.verdict)
        by_verdict = {row[0]: row[1] for row in connection.execute(verdicts)}
    assert (run.state, run.progress, run.counts["responses"]) == ("done", 1.0, TOTAL)
    assert {name: run.counts[name] for name in by_verdict} == by_verdict and sum(by_verdict.values()) == TOTAL
    counted = all_rows(engine)
    with engine.begin() as connection:
        for number in connection.scalars(sa.select(Session.id)).all():
            derive.derive(connection, [number])
    assert all_rows(engine) == counted


@pytest.mark.parametrize("profile", ["direct", "fencepost"])
def test_workers_killed_at_random_moments_cost_no_number(
    profile: str, stored: None, engine: sa.Engine, settings: Settings
) -> None:
    """Of `fencepost` what is there is removed first, so that every session is folded anew with it."""
    with engine.begin() as connection:
        connection.execute(sa.update(Parse).where(Parse.profile == profile).values(version="old"))
    run_queue.queue(engine, profile)
    for moment in sorted(random.Random(profile).sample(range(1, TOTAL // AT_ONCE), 2)):
        with ending(start(settings)):
            assert until(lambda least=moment: finished(engine) >= least)
        silent(engine)
    with ending(start(settings)):
        assert until(lambda: value(engine, sa.select(Run.state)) == "done")
    assert_exact(engine, profile)


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_two_workers_share_a_run_and_one_is_killed(stored: None, engine: sa.Engine, settings: Settings) -> None:
    run_queue.queue(engine, "windlass-balanced")
    with ending(start(settings)) as first, ending(start(settings)):
        assert until(lambda: finished(engine) >= 4)
        first.kill()
        first.wait()
        silent(engine, first.pid)
        assert until(lambda: value(engine, sa.select(Run.state)) == "done")
    assert_exact(engine, "windlass-balanced")


def begun(engine: sa.Engine, settings: Settings) -> int:
    number = run_queue.queue(engine, "direct")
    assert runs.start(engine, number, settings) is not None
    return number


def test_a_chunk_is_a_range_of_turn_ids_that_one_worker_has(
    stored: None, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    number = begun(engine, settings)
    first = run_chunks.claim(engine, number, MINE)
    assert first is not None and first.part_of is None
    following = run_chunks.claim(engine, number, OTHER) if engine.dialect.name == "postgresql" else None
    assert following is None or following.low > first.high
    chunks = db.scalars(sa.select(RunChunk).order_by(RunChunk.low)).all()
    assert len(chunks) == TOTAL // AT_ONCE and all(a.high < b.low for a, b in itertools.pairwise(chunks))
    run_chunks.release(engine, number, MINE)
    again = run_chunks.claim(engine, number, OTHER, first.low)
    assert again == first


def test_a_chunk_twice_counts_once(stored: None, engine: sa.Engine, settings: Settings, db: orm.Session) -> None:
    """As a broker brings it twice, or a worker that was taken for dead comes back."""
    number = begun(engine, settings)
    lows = db.scalars(sa.select(RunChunk.low).order_by(RunChunk.low)).all()
    db.rollback()
    for low in [*lows, *lows, 12345]:
        assert runs.replay_chunk(engine, number, low, MINE, settings) is True
    assert_exact(engine, "direct")


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_who_lost_a_chunk_stores_nothing_of_it(stored: None, engine: sa.Engine, settings: Settings) -> None:
    number = begun(engine, settings)
    chunk = run_chunks.claim(engine, number, MINE)
    assert chunk is not None
    with engine.connect() as connection:
        parsed = response_chunks.parse_chunk(connection, runs.parsing.profile("direct"), chunk)
    assert runs.replay_chunk(engine, number, chunk.low, OTHER, settings) is False
    silent(engine)
    assert runs.replay_chunk(engine, number, chunk.low, OTHER, settings) is True
    before = all_rows(engine)
    assert chunk_writing.store(engine, number, "direct", MINE, parsed) is False
    assert all_rows(engine) == before


def test_a_chunk_that_kills_workers_ends_its_run(stored: None, engine: sa.Engine, settings: Settings) -> None:
    number = begun(engine, settings)
    for name in "abcd":
        run_chunks.claim(engine, number, name)
        silent(engine)
    with pytest.raises(run_chunks.KillsWorkers, match="4 workers died over the turns"):
        run_chunks.claim(engine, number, MINE)
    silent(engine)
    runs.take_up(engine, number, OTHER, lambda *_: None, 1, settings)
    assert value(engine, sa.select(Run.state)) == "failed"
    assert value(engine, sa.select(sa.func.count()).select_from(RunChunk)) == 0


def dying(times: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the process that parses die over its first chunk, so many times."""
    parsed_chunks, deaths = response_chunks.parsed_chunks, itertools.count(1)

    def die(
        engine: sa.Engine, parser: Any, chunks: Iterator[Any], *about: Any
    ) -> Iterator[response_chunks.ParsedChunk]:
        if next(deaths) <= times:
            next(chunks)
            raise BrokenProcessPool
        yield from parsed_chunks(engine, parser, chunks, *about)

    monkeypatch.setattr(response_chunks, "parsed_chunks", die)


def test_a_killed_process_of_a_worker_costs_a_chunk(
    stored: None, engine: sa.Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the system kills it because memory is short: the worker itself goes on."""
    dying(1, monkeypatch)
    number = begun(engine, settings)
    runs.take_up(engine, number, MINE, lambda *_: None, 2, settings)
    assert value(engine, sa.select(Run.state)) == "running" and run_queue.next_free(engine) == number
    runs.take_up(engine, number, MINE, lambda *_: None, 2, settings)
    assert_exact(engine, "direct")


def test_a_chunk_that_kills_processes_ends_its_run(
    stored: None, engine: sa.Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying(float("inf"), monkeypatch)
    number = begun(engine, settings)
    for _ in range(run_chunks.MOST_TRIES + 2):
        runs.take_up(engine, number, MINE, lambda *_: None, 2, settings)
    assert value(engine, sa.select(Run.state)) == "failed"

"""Replays: another profile over what is stored."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests import forking
from tests.store.jobs.workers import disconnected
from tests.store.made import BROKEN, CALL, Bring, entry, facets, on_sqlite, windlass
from webapp import parsing
from webapp.config import Settings
from webapp.parsing.edit import Span
from webapp.store import derive, tasks
from webapp.store.jobs import replays, worker
from webapp.store.models import Parse, Session, Task
from webapp.store.sessions import debugger_queries, sessions, turns
from webapp.store.sessions.filters import Filters
from webapp.store.write import stored_turns


@pytest.fixture(autouse=True)
def stored(bring: Bring) -> None:
    bring(windlass("s1", [entry(BROKEN), entry(BROKEN, "turn_output"), entry(CALL), entry("{}")]))
    bring(windlass("s2", [entry("{}"), entry("do", "turn_input")]))


def test_a_profile_is_run_over_all_responses(engine: sa.Engine, settings: Settings, db: orm.Session) -> None:
    heard: list[tuple[int, int]] = []
    run = replays.replay(engine, settings, "direct", on_progress=lambda done, total: heard.append((done, total)))
    assert run.counts == {
        "responses": 4, "clean": 2, "extracted": 0, "repaired": 0, "failed": 2, "none": 0, "rescued": 0,
    }  # fmt: skip
    assert set(heard) == {(4, 4)}
    (kept,) = recent(engine)
    assert (kept.id, kept.state, kept.result) == (run.id, "done", {"counts": run.counts})
    assert kept.began_at is not None and kept.ended_at is not None
    assert len(db.scalars(sa.select(Parse.id).where(Parse.profile == "direct")).all()) == 4
    detail = turns.find(db, sessions.find(db, "s1"), 0)
    assert debugger_queries.trace(detail, "direct").verdict == "failed"
    db.rollback()
    assert replays.replay(engine, settings, "windlass-balanced").counts["rescued"] == 1, "which it reads, unlike home"


@dataclass(frozen=True)
class Newer:
    """A new version of the home profile, that finds fault with everything."""

    name: str = "windlass-strict"
    version: str = "99"

    def run(self, tracer: parsing.Tracer) -> None:
        tracer.fail("whole", Span(0, len(tracer.raw)), "never")


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "profile", lambda _: Newer())


@on_sqlite
def test_a_new_version_of_the_home_profile_counts_its_sessions_anew(
    newer: None, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    assert sessions.find(db, "s1").failed_count == 1
    db.rollback()
    assert replays.replay(engine, settings, "windlass-strict").counts["failed"] == 4
    db.expire_all()
    session = sessions.find(db, "s1")
    assert (session.failed_count, session.unparsed_count, session.strip) == (3, 3, "sss")
    assert turns.find(db, session, 1).failed is True


CHILD = """
import os
import signal
import sys
from pathlib import Path
from webapp.config import Settings
from tests.store.jobs.test_replays import Newer
from webapp import parsing
from webapp.store.db import database
from webapp.store.jobs import replays
from webapp.store.write import stored_turns

data, url, profile = sys.argv[1:]
if profile == "windlass-strict":
    parsing.profile = lambda _: Newer()

def wait(done, total):
    if done >= 20:
        print("waiting", flush=True)
        sys.stdin.read()

replays.AT_ONCE = stored_turns._AT_ONCE = 10
stored_turns._next_turns = stored_turns._next_turns.limit(10)
replays.replay(database.connect(url), Settings(data=Path(data), database=url), profile, on_progress=wait)
"""


def counted(db: orm.Session, profile: str = "direct") -> dict[str, int]:
    """How many responses of each session are counted under a profile."""
    db.expire_all()
    return {
        session.external_id: sum(facets(db, session.external_id).get(f"verdict {profile}", {}).values())
        for session in db.scalars(sa.select(Session))
    }


def parsed(db: orm.Session, profile: str = "direct") -> int:
    return db.scalar(sa.select(sa.func.count()).where(Parse.profile == profile)) or 0


def kill_in_the_middle(bring: Bring, engine: sa.Engine, settings: Settings, profile: str) -> None:
    """Begin a replay and kill it in the middle of a session."""
    bring(windlass("long", [entry(str(number)) for number in range(30)]))
    with forking.script(CHILD, str(settings.data), settings.database, profile) as child:
        assert child.stdout.readline() == b"waiting\n"
        assert not worker.is_work_free(engine, settings)
        child.kill()
    disconnected(engine)


def test_a_killed_replay_is_begun_again_by_the_next_worker(
    bring: Bring, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    kill_in_the_middle(bring, engine, settings, "direct")
    assert [run.state for run in recent(engine)] == ["running"]
    assert counted(db) == {"s1": 3, "s2": 1, "long": 0} and parsed(db) == 24
    db.rollback()
    worker.work(engine, settings)
    (run,) = recent(engine)
    assert (run.state, run.tries) == ("done", 1) and run.result["counts"]["responses"] == 34
    assert counted(db) == {"s1": 3, "s2": 1, "long": 30} and parsed(db) == 34


@on_sqlite
def test_what_was_parsed_before_a_kill_is_counted(
    bring: Bring, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    kill_in_the_middle(bring, engine, settings, "windlass-strict")
    assert sessions.find(db, "s1").unparsed_count == 3 and sessions.find(db, "long").unparsed_count == 0
    db.rollback()
    derive.catch_up(engine)  # as a server does
    db.expire_all()
    assert sessions.find(db, "long").unparsed_count == 20


def test_what_a_session_grows_by_meanwhile_is_counted(
    bring: Bring, engine: sa.Engine, settings: Settings, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither writes over the other."""
    responses = [entry(str(number)) for number in range(20)]
    bring(windlass("grows", responses[:10]))
    growth = threading.Thread(target=bring, args=[windlass("grows", responses)])
    made = derive._made

    def grow_meanwhile(*given: Any) -> Any:
        monkeypatch.undo()
        states = made(*given)
        growth.start()
        growth.join()
        return states

    monkeypatch.setattr(derive, "_made", grow_meanwhile)
    replays.replay(engine, settings, "direct", session="grows")
    assert counted(db, "windlass-strict")["grows"] == sessions.find(db, "grows").response_count == 20
    assert counted(db)["grows"] == parsed(db) == 20


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "AT_ONCE", 3)
    monkeypatch.setattr(stored_turns, "_AT_ONCE", 3)
    monkeypatch.setattr(stored_turns, "_next_turns", stored_turns._next_turns.limit(3))


@on_sqlite
def test_a_cancelled_run_stops_counted_and_goes_on_later(
    bring: Bring, few_at_once: None, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    bring(windlass("long", [entry(str(number)) for number in range(30)]))

    def cancel(done: int, total: int) -> None:
        if done > 10:
            tasks.cancel(engine, max(run.id for run in recent(engine)))

    run = replays.replay(engine, settings, "direct", on_progress=cancel)
    assert run.state == "cancelled" and recent(engine)[0].state == "cancelled"
    assert 10 < parsed(db) < 34 and sum(counted(db).values()) == parsed(db)
    before = parsed(db)
    db.rollback()
    assert replays.replay(engine, settings, "direct").new == 34 - before


def recent(engine: sa.Engine) -> list[Task]:
    with engine.connect() as connection:
        return tasks.page(connection, tasks.REPLAY)


@on_sqlite
def test_what_a_page_asked_for_is_done_by_the_worker(engine: sa.Engine, settings: Settings, db: orm.Session) -> None:
    number = replays.queue(engine, "direct", Filters(failed=True))
    assert replays.queue(engine, "direct", Filters(failed=True)) == number
    worker.work(engine, settings)
    (run,) = recent(engine)
    assert (run.state, run.about["filters"], run.result["counts"]["responses"]) == ("done", {"failed": 1}, 3)

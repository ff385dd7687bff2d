"""Imports: done in order by one worker, told while they go on, stopped, and taken up again after a kill."""

from __future__ import annotations

import io
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.jobs import workers
from tests.store.jobs.waiting import worker_at
from tests.store.jobs.workers import disconnected
from tests.store.made import CALL, entry, on_sqlite
from tests.store.whole import ENTRIES, SESSIONS, all_whole, lines
from webapp.config import Settings
from webapp.store import tasks
from webapp.store.db import locks
from webapp.store.ingest import dump_files
from webapp.store.ingest.result import Progress, Stopped
from webapp.store.ingest.start import ingest
from webapp.store.jobs import imports, worker
from webapp.store.models import Dump, Session, Task, Turn
from webapp.store.sessions import dumps
from webapp.store.write import turn_rows

ROOT = Path(__file__).resolve().parents[3]
INGEST = "webapp.store.ingest"
PHASES = {
    "spool": f"{INGEST}.start spool",
    "unpacked": f"{INGEST}.dump_ingest:DumpIngest run",
    "keep": "os fsync",
    "reading": f"{INGEST}.result:IngestCounts turn 70",
    "between": f"{INGEST}.dump_ingest:DumpIngest _take 4",
    "inside": "webapp.store.derive derive 4",
    "finish": f"{INGEST}.dump_ingest:DumpIngest _finish",
    "end": "webapp.store.tasks end",
}
"""before which call a worker is killed"""


Make = Callable[..., int]
Find = Callable[[int], Task]


@pytest.fixture
def make(engine: sa.Engine, settings: Settings) -> Make:
    """A job for some bytes."""

    def make(data: bytes, filename: str = "dump.jsonl", **told: object) -> int:
        path = imports.own(settings, io.BytesIO(data))
        return imports.ask(engine, settings, filename=filename, path=path, **told)  # type: ignore[arg-type]

    return make


@pytest.fixture
def find(engine: sa.Engine, settings: Settings) -> Find:
    def find(number: int) -> Task:
        with engine.connect() as connection:
            return tasks.find(connection, number)

    return find


def left(settings: Settings) -> list[str]:
    """What lies in the data folder beside kept dumps."""
    return sorted(
        path.name
        for path in dump_files.incoming(settings.data).parent.rglob("*")
        if path.is_file() and path.suffix != ".zst"
    )


def test_jobs_are_done_in_order(engine: sa.Engine, settings: Settings, make: Make, find: Find, db: orm.Session) -> None:
    numbers = [make(lines(1)), make(b"no dump", "b.bin"), make(lines(1), "c.jsonl")]
    assert [find(number).state for number in numbers] == ["queued"] * 3
    worker.work(engine, settings)
    first, second, third = map(find, numbers)
    assert (first.state, second.state, third.state) == ("done", "failed", "done")
    assert first.result == {"created": True, "sessions": 1, "new": 1, "grown": 0, "turns": ENTRIES, "problems": 0}
    assert (first.progress["read"], first.progress["turns"]) != (0, 0)
    assert second.result is not None and second.result["error"]["code"] == "unknown_format"
    assert third.result is not None and third.result["created"] is False
    assert third.dump_id == first.dump_id
    assert left(settings) == []


@on_sqlite
def test_a_mapping_and_a_home_go_along(
    engine: sa.Engine, settings: Settings, make: Make, find: Find, db: orm.Session
) -> None:
    number = make(b'{"o": "{}"}\n', mapping={"raw": "o"}, home="fencepost")
    worker.work(engine, settings)
    dump = dumps.find(db, find(number).dump_id or 0)
    assert (dump.format, dump.mapping, dump.home, find(number).state) == ("mapped", {"raw": "o"}, "fencepost", "done")


def test_how_far_it_is_is_told_and_it_can_be_stopped(
    engine: sa.Engine, settings: Settings, make: Make, find: Find, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = make(lines())
    told: list[dict[str, Any]] = []
    note = tasks.note

    def spied(connection: sa.Connection, task: int, progress: dict[str, Any], **values: Any) -> bool:
        told.append(progress)
        is_fourth_read = progress["turns"] == 4 * ENTRIES  # and not stored yet
        return note(connection, task, progress, **values) and not is_fourth_read

    monkeypatch.setattr("webapp.store.ingest.result.EVERY", 0.0)
    monkeypatch.setattr(tasks, "note", spied)
    worker.work(engine, settings)
    phases = list(dict.fromkeys(one.get("phase") for one in told))
    assert phases == ["receiving", "unpacking", "keeping", "looking", "storing"]
    reads = [one["read"] for one in told if one.get("phase") == "looking"]
    assert reads == sorted(reads) and len(set(reads)) > 1
    job = find(number)
    assert job.state == "cancelled"
    assert all_whole(db) == 3
    dump = dumps.find(db, job.dump_id or 0)
    assert (dump.state, dump.session_count) == ("failed", 3)
    assert dump.error is not None and "Cancelled. What was read by then is stored" in dump.error["message"]
    assert left(settings) == []
    monkeypatch.undo()
    done = ingest(engine, settings, io.BytesIO(lines()), filename="dump.jsonl")
    assert (done.dump.id, done.new, done.dump.state) == (dump.id, SESSIONS - 3, "done")
    assert all_whole(db) == SESSIONS


def test_a_long_session_can_be_stopped_within(
    engine: sa.Engine, settings: Settings, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read of it by then is a session, and the log says so; read again, it is whole."""
    monkeypatch.setattr("webapp.store.ingest.result.EVERY", 0.0)
    monkeypatch.setattr("webapp.store.ingest.dump_ingest.MOST_TEXT", 0)  # every session is long
    monkeypatch.setattr("webapp.store.write.turn_rows.MOST_TURNS", 4)
    pieces: list[int] = []
    written = turn_rows.TurnBatch.write

    def write(batch: turn_rows.TurnBatch, connection: sa.Connection) -> None:
        pieces.append(len(batch.turns))
        written(batch, connection)

    def tell(progress: Progress) -> None:
        if sum(pieces) >= 8:
            raise Stopped(True)

    monkeypatch.setattr(turn_rows.TurnBatch, "write", write)
    with pytest.raises(Stopped):
        ingest(engine, settings, io.BytesIO(lines(1)), filename="x.jsonl", watch=Progress(tell))
    session = db.scalars(sa.select(Session)).one()
    assert 8 <= session.turn_count == db.scalar(sa.select(sa.func.count()).select_from(Turn)) < ENTRIES
    assert not session.stale and len(session.strip) == session.turn_count
    (error,) = db.scalars(sa.select(Dump.error)).all()
    assert error is not None and "maybe in part" in error["message"]
    monkeypatch.undo()
    db.rollback()
    assert ingest(engine, settings, io.BytesIO(lines(1)), filename="x.jsonl").grown == 1
    assert all_whole(db) == 1


@pytest.mark.parametrize(
    ("url", "where"),
    [
        *(("sqlite", where) for where in PHASES),
        *(pytest.param("postgres", where, marks=pytest.mark.postgres) for where in ("between", "inside", "end")),
    ],
    indirect=["url"],
)
def test_a_worker_killed_in_any_phase_loses_nothing(
    where: str, engine: sa.Engine, settings: Settings, make: Make, find: Find, db: orm.Session
) -> None:
    number = make(lines())
    with worker_at(settings, PHASES[where]) as process:
        process.kill()
    assert find(number).state == "running"
    disconnected(engine)
    before = all_whole(db)
    if where in ("reading", "between", "inside"):
        assert before < SESSIONS
    else:
        assert before == (SESSIONS if where in ("finish", "end") else 0)
    worker.work(engine, settings)
    assert (find(number).state, all_whole(db)) == ("done", SESSIONS)
    (dump,) = dumps.page(db)
    assert (dump.state, dump.session_count, dump.turn_count) == ("done", SESSIONS, SESSIONS * ENTRIES)
    assert [name for name in left(settings) if not name.startswith(("spool-", "keep-"))] == []


@on_sqlite
@pytest.mark.parametrize("place", ["webapp.store.derive settle 2", PHASES["end"]])
def test_what_a_killed_worker_stored_is_derived_and_counted_before_it_is_done(
    place: str, engine: sa.Engine, settings: Settings, make: Make, find: Find, db: orm.Session
) -> None:
    """All pieces of a long session are stored, and the worker dies before it is derived, or before that is noted."""
    entries = [entry(f"{number} {CALL} {400 * '.'}", session_id="s") for number in range(400)]
    number = make(b"".join(json.dumps(one).encode() + b"\n" for one in entries))
    with worker_at(settings, place) as process:
        process.kill()
    disconnected(engine)
    assert db.scalar(sa.select(sa.func.count()).select_from(Turn)) == 400
    db.rollback()
    worker.work(engine, settings)
    assert find(number).state == "done"
    session = db.scalars(sa.select(Session)).one()
    assert (session.stale, session.turn_count, len(session.strip)) == (False, 400, 400)
    assert find(number).result == {"created": True, "sessions": 1, "new": 1, "grown": 0, "turns": 400, "problems": 0}


@pytest.mark.parametrize(("where", "state"), [("end", "done"), ("between", "failed")])
def test_an_import_is_given_up_where_workers_died_over_it_too_often(
    where: str, state: str, engine: sa.Engine, settings: Settings, make: Make, find: Find, db: orm.Session
) -> None:
    number = make(lines())
    with worker_at(settings, PHASES[where]) as process:
        process.kill()
    disconnected(engine)
    with engine.begin() as connection:
        tasks.note(connection, number, {}, dump_id=connection.scalar(sa.select(Dump.id)))
    for _ in range(tasks.MOST_TRIES):
        assert tasks.begin(engine, number) is not None
    worker.work(engine, settings)
    job = find(number)
    assert job.state == "failed" and job.result["error"]["code"] == "gave_up"
    assert "What was stored stays" in job.result["error"]["message"]
    assert 0 < all_whole(db) <= SESSIONS
    assert db.scalars(sa.select(Dump.state)).all() == [state]  # nobody takes it up again by itself


def test_a_dump_whose_reader_was_killed_is_taken_up(
    engine: sa.Engine, settings: Settings, db: orm.Session, tmp_path: Path
) -> None:
    """As POST /api/dumps and `fencepost ingest` leave it, with the home profile that was told."""
    number = imports.ask(engine, settings, filename="x.jsonl", path=imports.own(settings, io.BytesIO(lines())))
    with worker_at(settings, PHASES["between"]) as process:
        process.kill()
    with engine.begin() as connection:
        connection.execute(sa.delete(Task).where(Task.id == number))
        connection.execute(sa.update(Dump).values(home="fencepost"))
    worker.work(engine, settings)
    assert all_whole(db) == SESSIONS
    assert db.scalars(sa.select(Dump.state)).all() == ["done"]
    homes = db.scalars(sa.select(Session.home_profile).order_by(Session.id)).all()
    assert homes[-1] == "fencepost"


def test_what_was_cancelled_once_its_worker_was_dead_does_not_go_on(
    engine: sa.Engine, settings: Settings, make: Make, find: Find, db: orm.Session
) -> None:
    number = make(lines())
    with worker_at(settings, PHASES["between"]) as process:
        process.kill()
    disconnected(engine)
    before = all_whole(db)
    with engine.begin() as connection:
        tasks.note(connection, number, {}, dump_id=connection.scalar(sa.select(Dump.id)))
    imports.cancel(engine, settings, find(number))
    worker.work(engine, settings)
    assert (all_whole(db), db.scalars(sa.select(Task.state)).all()) == (before, ["cancelled"])
    (dump,) = dumps.page(db)
    assert (dump.state, dump.error and dump.error["code"]) == ("failed", "cancelled")
    assert before < SESSIONS
    db.rollback()
    again = make(lines())
    worker.work(engine, settings)
    assert (find(again).state, all_whole(db)) == ("done", SESSIONS)


def test_a_dump_that_is_being_read_is_left_alone(engine: sa.Engine, settings: Settings, db: orm.Session) -> None:
    done = ingest(engine, settings, io.BytesIO(lines(1)), filename="x.jsonl")
    with engine.begin() as connection:
        connection.execute(sa.update(Dump).values(state="reading"))
    with locks.wait_for(engine, settings.data, done.dump.sha256):
        worker.work(engine, settings)
        assert db.scalars(sa.select(Task.id)).all() == []


@on_sqlite
def test_files_of_jobs_that_are_gone_are_removed_in_time(engine: sa.Engine, settings: Settings) -> None:
    folder = dump_files.incoming(settings.data)
    old, new = folder / "job-old", folder / "job-new"
    orphan, fresh = (settings.data / dump_files.name_of(letter * 64) for letter in "ab")
    members = folder / "members-of-an-archive"
    members.mkdir()
    waiting = imports.own(settings, io.BytesIO(b"x"))
    imports.ask(engine, settings, filename="x.jsonl", path=waiting)
    for path in (old, new, orphan, fresh):
        path.write_bytes(b"x")
    for path in (old, orphan, members, waiting):
        os.utime(path, (1, 1))
    imports.tidy(engine, settings)
    assert [path.exists() for path in (old, new, orphan, fresh)] == [False, True, False, True]
    assert sorted(path.name for path in folder.iterdir()) == sorted(["job-new", waiting.name])


@on_sqlite
def test_the_command_ends_with_the_server_that_started_it(
    engine: sa.Engine, settings: Settings, find: Find, db: orm.Session
) -> None:
    """Its standard input is a pipe from the server; a job that it was at is put back."""
    path = imports.own(settings, io.BytesIO(lines()))
    number = imports.ask(engine, settings, filename="x.jsonl", path=path)
    path.unlink()
    os.mkfifo(path)  # opening it to write waits until the worker has opened it to read
    with workers.ending(workers.start(settings)) as command:
        with path.open("wb", buffering=0) as file:
            assert find(number).state == "running"
            assert command.stdin is not None
            command.stdin.close()
            with pytest.raises(BrokenPipeError):
                for line in itertools.cycle(lines().splitlines(keepends=True)):  # without an end of its own
                    file.write(line)
        assert command.wait(60) == 0
    assert (find(number).state, find(number).tries) == ("queued", 0)
    assert all_whole(db) < SESSIONS

"""Sessions prepared beside: the same rows in the same order, whatever becomes of the helper, and nothing left of it."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.jobs.workers import until
from tests.store.made import CALL, entry
from webapp.config import Settings
from webapp.store.ingest import dump_files, helper_process, pipeline
from webapp.store.ingest.start import IngestResult, ingest
from webapp.store.models import Parse, Session, Turn
from webapp.store.write import rows, writing
from webapp.store.write.row_values import PARSE, REPAIR, TURN

SESSIONS, ENTRIES = 12, 20
BROKEN = '```json\n{"tool": "run", "arguments": {}}}}\n```'


def lines() -> bytes:
    """Sessions of twenty entries, one behind the other: calls, broken ones, and errors that speak of them."""
    texts = (CALL, BROKEN, "prose \ud800 and no JSON")
    entries = [
        entry(f"{number} {texts[number % 3]}", session_id=f"s{number // ENTRIES}", timestamp=float(number))
        for number in range(SESSIONS * ENTRIES)
    ]
    return b"".join(json.dumps(one).encode() + b"\n" for one in entries)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """A helper for any dump, batches of one session, and the first batch waits until the helper runs."""
    monkeypatch.setattr(pipeline, "HELPED", 0)
    monkeypatch.setattr(pipeline, "MOST_SESSIONS", 1)
    monkeypatch.setattr(pipeline, "processors", lambda: 2)
    begin = helper_process.Helper.__init__

    def started(self: helper_process.Helper, folder: Path) -> None:
        begin(self, folder)
        ready = time.monotonic() + 60
        while not self.is_free and time.monotonic() < ready:
            pass

    monkeypatch.setattr(helper_process.Helper, "__init__", started)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many sessions each answer of a helper held."""
    taken: list[int] = []
    take = helper_process.Helper.take

    def spied(self: helper_process.Helper, *, wait: bool) -> list[pipeline.NewSession] | None:
        found = take(self, wait=wait)
        if found is not None:
            taken.append(len(found))
        return found

    monkeypatch.setattr(helper_process.Helper, "take", spied)
    return taken


def stored(db: orm.Session) -> list[object]:
    """All that an ingest wrote, but for times and numbers that the database gives."""
    db.rollback()
    sessions = db.scalars(sa.select(Session).order_by(Session.id)).all()
    columns = (
        "external_id",
        "key",
        "title",
        "strip",
        "turn_count",
        "failed_count",
        "models",
        "started_at",
        "raw_bytes",
    )
    said: list[object] = [[getattr(one, name) for name in columns] for one in sessions]
    turns = sa.select(Turn.ordinal, Turn.position, Turn.raw, Turn.recorded_failure, Turn.source, Turn.entry_sha256)
    said += [tuple(row) for row in db.execute(turns.order_by(Turn.id))]
    said += [
        tuple(row)
        for row in db.execute(
            sa.select(Parse.profile, Parse.verdict, Parse.strategy).order_by(Parse.turn_id, Parse.profile)
        )
    ]
    return said


def come(engine: sa.Engine, settings: Settings) -> IngestResult:
    return ingest(engine, settings, io.BytesIO(lines()), filename="dump.jsonl")


def all_there(done: IngestResult) -> bool:
    return done.new == SESSIONS and done.sessions == [f"s{number}" for number in range(SESSIONS)]


def folders(settings: Settings) -> list[Path]:
    return list(dump_files.incoming(settings.data).iterdir())


def test_with_a_helper_all_is_stored_as_without(
    engine: sa.Engine, settings: Settings, db: orm.Session, request: pytest.FixtureRequest
) -> None:
    alone = come(engine, settings)
    expected = stored(db)
    for session in db.scalars(sa.select(Session)):
        session.external_id = f"old {session.external_id}"
        session.key = session.key[::-1] + "x"
    db.commit()
    there = len(expected)
    request.getfixturevalue("two")
    answers = request.getfixturevalue("answers")
    done = ingest(engine, settings, io.BytesIO(lines() + b"\n"), filename="dump.jsonl")
    assert all_there(alone) and all_there(done)
    assert sum(answers) > 0
    both = stored(db)
    assert len(both) == 2 * there
    assert [one for one in both if one in expected and not isinstance(one, list)] == [
        one for one in both if not isinstance(one, list)
    ]
    new = [one for one in both if isinstance(one, list) and not str(one[0]).startswith("old")]
    assert new == [one for one in expected if isinstance(one, list)]
    assert folders(settings) == []


@pytest.mark.usefixtures("two")
def test_a_helper_that_is_killed_is_done_without(
    engine: sa.Engine, settings: Settings, answers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    give = helper_process.Helper.give
    given: list[int] = []

    def killed(self: helper_process.Helper, batch: list[pipeline.Given]) -> None:
        if len(given) == 2:
            self._process.send_signal(signal.SIGSTOP)  # so that the third is not answered before it is killed
        give(self, batch)
        given.append(len(batch))
        if len(given) == 3:
            self._process.kill()

    monkeypatch.setattr(helper_process.Helper, "give", killed)
    assert all_there(come(engine, settings))
    assert sum(answers) < len(given) < SESSIONS
    assert folders(settings) == []


@pytest.mark.usefixtures("two")
def test_what_a_slow_helper_has_not_begun_is_prepared_here_in_order(
    engine: sa.Engine, settings: Settings, answers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands still from the first batch on, and goes on only when nothing else is left to do than to wait for it."""
    give, take = helper_process.Helper.give, helper_process.Helper.take

    def stopped(self: helper_process.Helper, batch: list[pipeline.SessionInput]) -> None:
        self._process.send_signal(signal.SIGSTOP)
        give(self, batch)

    def awaited(self: helper_process.Helper, *, wait: bool) -> list[pipeline.NewSession] | None:
        if wait:
            assert len(self._waiting) == 1
            self._process.send_signal(signal.SIGCONT)
        return take(self, wait=wait)

    monkeypatch.setattr(helper_process.Helper, "give", stopped)
    monkeypatch.setattr(helper_process.Helper, "take", awaited)
    assert all_there(come(engine, settings))
    assert 0 < sum(answers) < SESSIONS / 2
    assert folders(settings) == []


@pytest.mark.usefixtures("two")
def test_a_turn_that_is_nested_too_deeply_for_the_way_is_prepared_here(
    engine: sa.Engine, settings: Settings, answers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(value: object, protocol: int) -> bytes:
        raise RecursionError

    monkeypatch.setattr(helper_process.pickle, "dumps", refused)
    assert all_there(come(engine, settings))
    assert answers == []


def test_a_helper_ends_with_whoever_started_it(tmp_path: Path) -> None:
    starts = (
        "import sys; from pathlib import Path; from webapp.store.ingest.helper_process import Helper\n"
        "helper = Helper(Path(sys.argv[1]))\n"
        "while not helper.is_free: pass\n"
        "print(helper._process.pid, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", starts, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        helper = int(parent.stdout.readline())
        parent.kill()
    assert until(lambda: has_ended(helper))


def has_ended(pid: int) -> bool:
    """Whether the process is gone, or waits for nothing but to be asked for its exit code."""
    try:
        return "Z (zombie)" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it may go while it is looked at
        return True


def test_known_sessions_among_new_ones_grow_in_their_turn_and_are_asked_for_together(
    engine: sa.Engine, settings: Settings, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = b"".join(line for line in lines().splitlines(keepends=True) if b'"s1"' in line or b'"s4"' in line)
    shorter = b"".join(some.splitlines(keepends=True)[:-5])  # of s4
    ingest(engine, settings, io.BytesIO(shorter), filename="before.jsonl")
    asked: list[int] = []
    known = writing.known

    def counted(connection: sa.Connection, external_ids: Iterable[str]) -> set[str]:
        ids = list(external_ids)
        asked.append(len(ids))
        return known(connection, ids)

    monkeypatch.setattr(writing, "known", counted)
    done = come(engine, settings)
    assert (done.new, done.grown, done.new_turns) == (SESSIONS - 2, 1, (SESSIONS - 2) * ENTRIES + 5)
    assert done.sessions == [f"s{number}" for number in range(SESSIONS)]
    assert sum(asked) == SESSIONS and len(asked) < SESSIONS / 2
    assert db.scalar(sa.select(sa.func.count()).select_from(Turn)) == SESSIONS * ENTRIES


def test_rows_have_all_columns() -> None:
    """A column that is added to a table and not to its rows would be left empty without a word."""
    for table, names in ((rows.turns, TURN), (rows.parses, PARSE), (rows.repairs, REPAIR)):
        assert len(set(names)) == len(names)
        assert {"id", *names} == {"id", *table.c.keys()}

"""Ingest: what a dump becomes in the database, the first time and again."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, BringRecords, entry, on_sqlite, windlass
from webapp import parsing
from webapp.dumps.budget import BadDump
from webapp.dumps.records import Problem, SessionStart, Turn
from webapp.store.models import Dump, Parse
from webapp.store.models import Turn as StoredTurn
from webapp.store.sessions import dumps, sessions


def count(db: orm.Session, model: type) -> int:
    return db.scalar(sa.select(sa.func.count()).select_from(model)) or 0


def test_a_windlass_dump_becomes_a_session(bring: Bring, db: orm.Session) -> None:
    done = bring(windlass("s1", [entry("do it", "turn_input"), entry(CALL, model="m1"), entry(BROKEN, model="m1")]))
    assert (done.created, done.sessions, done.problems) == (True, ["s1"], [])
    assert (done.new, done.grown, done.new_turns) == (1, 0, 3)
    assert (done.dump.state, done.dump.format, done.dump.session_count, done.dump.turn_count) == (
        "done",
        "windlass",
        1,
        3,
    )
    session = sessions.find(db, "s1")
    assert session.key == done.keys[0]
    assert (session.turn_count, session.response_count, session.failed_count, session.entry_count) == (3, 2, 1, 3)
    assert session.home_profile == "windlass-strict"
    assert session.models == ["m1"]
    assert session.strip == "es"
    assert session.rescued_count == 1


@on_sqlite
def test_each_response_is_parsed_by_its_home_profile_and_by_ours(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s1", [entry(BROKEN)]))
    parses = {parse.profile: parse for parse in db.scalars(sa.select(Parse))}
    assert set(parses) == {"windlass-strict", "fencepost"}
    assert parses["windlass-strict"].verdict == "failed"
    ours = parsing.Trace.from_dict(parses["fencepost"].trace)
    assert ours.verdict == parses["fencepost"].verdict == "repaired"
    assert ours.attempts == parsing.parse(BROKEN).attempts
    assert parses["fencepost"].repairs and parses["windlass-strict"].repairs is None


@on_sqlite
def test_where_ours_is_the_home_profile_there_is_one_parse(bring_records: BringRecords, db: orm.Session) -> None:
    bring_records(SessionStart("s", "made-up"), Turn(0, "response", "{}"), home="fencepost")
    assert [parse.profile for parse in db.scalars(sa.select(Parse))] == ["fencepost"]


@on_sqlite
def test_a_turn_keeps_what_its_entry_said(bring: Bring, db: orm.Session) -> None:
    came = entry(CALL, model="m1", phase_name="plan", sounding_index=2, timestamp=1.7e9, tokens_in=5, cost=0.5, odd=[1])
    bring(windlass("s1", [came]))
    turn = db.scalars(sa.select(StoredTurn)).one()
    assert (turn.kind, turn.raw, turn.model, turn.phase, turn.sounding) == ("response", CALL, "m1", "plan", 2)
    assert (turn.tokens_in, turn.cost, turn.sent_at and turn.sent_at.timestamp()) == (5, 0.5, 1.7e9)
    assert turn.source == {**came, "content": None}
    assert turn.raw_at == ["content"]


def test_what_was_logged_twice_counts_once(bring: Bring, db: orm.Session) -> None:
    twice = [entry(BROKEN), entry(BROKEN, "turn_output"), entry("told", "validation_error")]
    bring(windlass("s1", [*twice, entry("error", "validation_error", role="json_parse_error")]))
    session = sessions.find(db, "s1")
    assert (session.entry_count, session.turn_count, session.response_count, session.failed_count) == (4, 2, 1, 1)
    positions = db.scalars(sa.select(StoredTurn.position).order_by(StoredTurn.ordinal)).all()
    assert positions == [0, 0, 1, 1]
    assert count(db, Parse) == 2


READ = Turn(0, "response", CALL)


@on_sqlite
@pytest.mark.parametrize(
    ("turns", "failed", "strip"),
    [
        ([READ, Turn(1, "error", "no", answers=0)], 1, "s"),
        ([Turn(0, "response", "x = {1: 2}"), Turn(1, "error", "no", answers=0)], 1, "f"),
        ([replace(READ, failure="not read")], 1, "s"),
        ([Turn(0, "response", None), Turn(1, "error", "boom", answers=0)], 1, "f"),
        ([Turn(0, "prompt", "hi"), Turn(1, "error", "?", answers=0), READ, Turn(3, "error", "?", answers=99)], 0, "e"),
        ([], 0, ""),
    ],
    ids=["an error that answers", "of a text without JSON", "its own", "without text", "of a prompt", "no turns"],
)
def test_what_the_dump_records_as_failed_is_failed(
    turns: list[Turn], failed: int, strip: str, bring_records: BringRecords, db: orm.Session
) -> None:
    """Whatever the home profile makes of it."""
    bring_records(SessionStart("s", "made-up"), *turns, home="windlass-strict")
    session = sessions.find(db, "s")
    assert (session.failed_count, session.unparsed_count, session.strip) == (failed, 0, strip)
    assert (session.failed, session.turn_count) == (bool(failed), len(turns))


@on_sqlite
def test_an_unknown_home_is_a_problem_and_the_setting_is_taken(bring_records: BringRecords, db: orm.Session) -> None:
    done = bring_records(SessionStart("s", "made-up", home="no-such"), Turn(0, "response", "{}"))
    assert sessions.find(db, "s").home_profile == "direct"
    assert [problem.at for problem in done.problems] == ["session s"]
    assert "no profile is called 'no-such'" in done.problems[0].reason


@on_sqlite
def test_all_problems_are_counted_and_the_first_are_kept(bring_records: BringRecords) -> None:
    problems = [Problem(f"line {number}", "odd") for number in range(1000)]
    done = bring_records(SessionStart("s", "made-up"), *problems)
    assert (done.dump.problem_count, len(done.problems), len(done.dump.problems)) == (1000, 200, 200)


@on_sqlite
def test_a_dump_that_breaks_off_keeps_what_came(bring_records: BringRecords, db: orm.Session) -> None:
    start = SessionStart("s", "made-up")
    with pytest.raises(BadDump):
        bring_records(start, Turn(0, "response", "{}"), end=BadDump("it breaks off", "byte 9"))
    assert sessions.find(db, "s").turn_count == 1
    (line,) = dumps.page(db)
    assert (line.state, line.session_count) == ("failed", 1)
    assert line.error == {"code": "bad_dump", "message": "it breaks off", "at": "byte 9"}


@on_sqlite
def test_the_same_bytes_after_a_failure_are_tried_again(
    bring: Bring, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = windlass("s1", [entry(CALL)])

    def sniff(*_: object) -> str:
        raise BadDump("not today", "byte 0")

    with monkeypatch.context() as patch, pytest.raises(BadDump):
        patch.setattr("webapp.dumps.reading.sniff", sniff)
        bring(document)
    done = bring(document)
    assert (done.created, done.dump.state, done.dump.error) == (True, "done", None)
    assert count(db, Dump) == 1


@on_sqlite
def test_times_and_order_of_a_session(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s1", [entry("a", timestamp=200.0), entry("b", timestamp=100.0)]))
    session = sessions.find(db, "s1")
    assert session.started_at is not None and session.ended_at is not None
    assert (session.started_at.timestamp(), session.ended_at.timestamp()) == (100.0, 200.0)
    assert session.happened_at == session.started_at

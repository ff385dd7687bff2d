"""Turns: the timeline, one turn, its neighbours, its traces."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp import parsing
from webapp.store.labels import labels
from webapp.store.models import Parse, Session
from webapp.store.sessions import debugger_queries, sessions, turns

ENTRIES = [
    entry("do it", "turn_input"),
    entry(CALL, model="m1"),
    entry(CALL, "turn_output", phase_name="plan"),
    entry(BROKEN, timestamp=100.0),
    entry("told", "validation_error"),
    entry("fine, no JSON"),
    entry(BROKEN + " "),
]


@pytest.fixture
def session(bring: Bring, db: orm.Session) -> Session:
    bring(windlass("s1", ENTRIES))
    return sessions.find(db, "s1")


def test_the_timeline_shows_each_turn_once(session: Session, db: orm.Session) -> None:
    lines = turns.timeline(db, session)
    assert [line.position for line in lines] == [0, 1, 2, 3, 4, 5]
    assert [line.kind for line in lines] == ["prompt", "response", "response", "error", "response", "response"]
    assert [line.duplicates for line in lines] == [0, 1, 0, 0, 0, 0]
    assert [line.home for line in lines] == [None, "extracted", "failed", None, "none", "failed"]
    assert [line.fencepost for line in lines] == [None, "extracted", "repaired", None, "none", "repaired"]
    assert [line.failed for line in lines] == [False, False, True, False, False, True]
    assert [line.rescued for line in lines] == [False, False, True, False, False, True]


def test_a_part_of_the_timeline(session: Session, db: orm.Session) -> None:
    for first, count in [(0, 2), (2, 3), (4, 99), (6, 1), (99, 5), (0, 0), (3, None)]:
        whole = turns.timeline(db, session)
        expected = whole[first:] if count is None else whole[first : first + count]
        assert turns.timeline(db, session, first=first, count=count) == expected


def test_where_nothing_failed_there_is_no_failed_neighbour(bring: Bring, db: orm.Session) -> None:
    bring(windlass("fine", [entry(CALL), entry("no JSON")]))
    found = turns.neighbours(db, sessions.find(db, "fine"), 0)
    assert (found.previous, found.next, found.previous_failed, found.next_failed) == (None, 1, None, None)


def test_a_line_says_what_its_entries_knew(session: Session, db: orm.Session) -> None:
    line = turns.timeline(db, session)[1]
    assert (line.model, line.phase, line.preview, line.length) == ("m1", "plan", CALL, len(CALL))
    failed = turns.timeline(db, session)[2]
    assert failed.recorded_failure == "told"
    assert failed.sent_at is not None and failed.sent_at.timestamp() == 100.0


def test_a_line_shows_ones_own_judgement_and_of_others_only_that_they_judged(session: Session, db: orm.Session) -> None:
    turn = turns.find(db, session, 2).turn
    labels.put(db, turn, author="ann", judgement="missed")
    labels.put(db, turn, author="bob", judgement="unsure")
    for viewer, said in (("ann", "missed"), ("bob", "unsure"), ("cid", "labelled"), (None, "labelled")):
        lines = turns.timeline(db, session, viewer=viewer)
        assert [line.judgement for line in lines] == [None, None, said, None, None, None]


def test_a_turn_with_its_duplicates_and_parses(session: Session, db: orm.Session) -> None:
    detail = turns.find(db, session, 1)
    assert (detail.turn.raw, [twin.role for twin in detail.duplicates]) == (CALL, ["assistant"])
    assert detail.home is not None and detail.fencepost is not None
    assert (detail.home.profile, detail.fencepost.profile) == ("windlass-strict", "fencepost")
    assert (detail.failed, detail.rescued) == (False, False)
    assert (turns.find(db, session, 2).failed, turns.find(db, session, 2).rescued) == (True, True)


def test_no_turn_there(session: Session, db: orm.Session) -> None:
    for position in [-1, 6, 2**40, 2**70]:
        with pytest.raises(turns.NoSuchTurn):
            turns.find(db, session, position)


def test_neighbours(session: Session, db: orm.Session) -> None:
    for position, expected in [
        (0, (None, 1, None, 2)),
        (2, (1, 3, None, 5)),
        (3, (2, 4, 2, 5)),
        (5, (4, None, 2, None)),
    ]:
        found = turns.neighbours(db, session, position)
        assert (found.previous, found.next, found.previous_failed, found.next_failed) == expected


def test_a_stored_trace_is_given_back(session: Session, db: orm.Session) -> None:
    detail = turns.find(db, session, 2)
    assert detail.home is not None
    trace = debugger_queries.trace(detail, "windlass-strict")
    assert trace.as_dict() == detail.home.trace
    assert trace.verdict == "failed"


def test_any_other_profile_is_run_at_once(session: Session, db: orm.Session) -> None:
    trace = debugger_queries.trace(turns.find(db, session, 2), "direct")
    assert (trace.profile, trace.verdict) == ("direct", "failed")
    assert trace.attempts == parsing.parse(BROKEN, "direct").attempts


def test_a_trace_of_an_older_version_is_made_anew(session: Session, db: orm.Session) -> None:
    db.execute(sa.update(Parse).where(Parse.profile == "fencepost").values(version="0", trace={"old": True}))
    db.commit()
    trace = debugger_queries.trace(turns.find(db, session, 2), "fencepost")
    assert trace.version == parsing.profile("fencepost").version
    assert trace.verdict == "repaired"


def test_what_no_model_wrote_has_no_trace(session: Session, db: orm.Session) -> None:
    with pytest.raises(turns.NoSuchTurn, match="no model wrote"):
        debugger_queries.trace(turns.find(db, session, 0), "direct")


def test_an_unknown_profile_is_refused(session: Session, db: orm.Session) -> None:
    with pytest.raises(parsing.UnknownProfile):
        debugger_queries.trace(turns.find(db, session, 1), "no-such")


@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_a_preview_is_the_first_code_points_wherever_the_bytes_are_cut(text: str) -> None:
    head = text.encode("utf-8", "surrogatepass")[: 4 * turns.PREVIEW]
    assert turns.preview(head) == text[: turns.PREVIEW]
    for cut in range(len(head)):
        assert text.startswith(turns.preview(head[:cut]))

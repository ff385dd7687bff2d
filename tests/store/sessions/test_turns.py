"""Turns: the timeline, one turn, its neighbours, its traces."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, on_sqlite, windlass
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


def test_neighbours(session: Session, db: orm.Session) -> None:
    for position, expected in [
        (0, (None, 1, None, 2)),
        (2, (1, 3, None, 5)),
        (3, (2, 4, 2, 5)),
        (5, (4, None, 2, None)),
    ]:
        found = turns.neighbours(db, session, position)
        assert (found.previous, found.next, found.previous_failed, found.next_failed) == expected


@on_sqlite
def test_a_trace_is_the_stored_one_or_made_at_once(session: Session, db: orm.Session) -> None:
    detail = turns.find(db, session, 2)
    stored, other = (debugger_queries.trace(detail, name) for name in ("windlass-strict", "direct"))
    home = sa.select(Parse.trace).where(Parse.turn_id == detail.turn.id, Parse.profile == "windlass-strict")
    assert stored.as_dict() == db.scalar(home)
    assert (other.profile, other.verdict) == ("direct", "failed")
    db.execute(sa.update(Parse).where(Parse.profile == "fencepost").values(version="0", trace={"old": True}))
    db.commit()
    trace = debugger_queries.trace(turns.find(db, session, 2), "fencepost")
    assert (trace.version, trace.verdict) == (parsing.profile("fencepost").version, "repaired")


@on_sqlite
def test_what_no_model_wrote_has_no_trace(session: Session, db: orm.Session) -> None:
    with pytest.raises(turns.NoSuchTurn, match="no model wrote"):
        debugger_queries.trace(turns.find(db, session, 0), "direct")


@on_sqlite
def test_an_unknown_profile_is_refused(session: Session, db: orm.Session) -> None:
    with pytest.raises(parsing.UnknownProfile):
        debugger_queries.trace(turns.find(db, session, 1), "no-such")


@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_a_preview_is_the_first_code_points_wherever_the_bytes_are_cut(text: str) -> None:
    head = text.encode("utf-8", "surrogatepass")[: 4 * turns.PREVIEW]
    assert turns.preview(head) == text[: turns.PREVIEW]
    for cut in range(len(head)):
        assert text.startswith(turns.preview(head[:cut]))

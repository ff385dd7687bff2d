"""Runs: another profile over what is stored."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp import parsing
from webapp.parsing import UnknownProfile
from webapp.parsing.span import Span
from webapp.store import runs, sessions, turns
from webapp.store.models import Parse, Run


@pytest.fixture(autouse=True)
def stored(bring: Bring) -> None:
    bring(windlass("s1", [entry(BROKEN), entry(BROKEN, "turn_output"), entry(CALL), entry("{}")]))
    bring(windlass("s2", [entry("{}"), entry("do", "turn_input")]))


def test_a_profile_is_run_over_all_responses(engine: sa.Engine, db: orm.Session) -> None:
    heard: list[tuple[int, int]] = []
    run = runs.replay(engine, "direct", progress=lambda done, total: heard.append((done, total)))
    assert run.counts == {
        "responses": 4, "clean": 2, "extracted": 0, "repaired": 0, "failed": 2, "none": 0, "rescued": 0,
    }  # fmt: skip
    assert heard == [(4, 4)]
    kept = db.scalars(sa.select(Run)).one()
    assert (kept.id, kept.state, kept.progress, kept.counts) == (run.id, "done", 1.0, run.counts)
    assert kept.started_at is not None and kept.finished_at is not None
    assert len(db.scalars(sa.select(Parse.id).where(Parse.profile == "direct")).all()) == 4
    detail = turns.find(db, sessions.find(db, "s1"), 0)
    assert turns.trace(detail, "direct").verdict == "failed"


def test_rescued_counts_failures_that_the_profile_reads(engine: sa.Engine) -> None:
    assert runs.replay(engine, "windlass-balanced").counts["rescued"] == 1


def test_one_session_only(engine: sa.Engine, db: orm.Session) -> None:
    key = sessions.find(db, "s2").key
    assert runs.replay(engine, "direct", session="s2").counts["responses"] == 1
    assert runs.replay(engine, "direct", session=key).counts["responses"] == 1


def test_again_is_only_counted(engine: sa.Engine, db: orm.Session) -> None:
    first = runs.replay(engine, "direct")
    ids = db.scalars(sa.select(Parse.id).order_by(Parse.id)).all()
    db.rollback()
    assert runs.replay(engine, "direct").counts == first.counts
    assert db.scalars(sa.select(Parse.id).order_by(Parse.id)).all() == ids


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


def test_a_new_version_of_the_home_profile_counts_its_sessions_anew(
    newer: None, engine: sa.Engine, db: orm.Session
) -> None:
    assert sessions.find(db, "s1").failed_count == 1
    db.rollback()
    assert runs.replay(engine, "windlass-strict").counts["failed"] == 4
    db.expire_all()
    session = sessions.find(db, "s1")
    assert (session.failed_count, session.unparsed_count, session.strip) == (3, 3, "sss")
    assert turns.find(db, session, 1).failed is True


def test_an_unknown_profile_is_refused(engine: sa.Engine, db: orm.Session) -> None:
    with pytest.raises(UnknownProfile):
        runs.replay(engine, "no-such")
    assert db.scalars(sa.select(Run)).all() == []


@pytest.mark.parametrize("ident", ["no", "\0", "\ud800"])
def test_an_unknown_session_is_refused(engine: sa.Engine, ident: str) -> None:
    with pytest.raises(sessions.NoSuchSession):
        runs.replay(engine, "direct", session=ident)

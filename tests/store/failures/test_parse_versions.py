"""Parses by version, as they are remembered, are a recount of what is stored, whatever changed since."""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.failures.test_recount import lines
from tests.store.made import Bring
from webapp.config import Settings
from webapp.store import index
from webapp.store.db.database import writing
from webapp.store.db.dialect import change
from webapp.store.failures import group_detail, groups, parse_versions
from webapp.store.jobs import runs
from webapp.store.models import Parse, Session, Turn
from webapp.store.sessions import deletion
from webapp.store.sessions.filters import Filters


def check(db: orm.Session, profile: str = "direct") -> Counter[str]:
    db.rollback()
    state = index.current(db)
    query = sa.select(Parse.version, sa.func.count()).join(Turn, Turn.id == Parse.turn_id)
    query = query.join(Session, Session.id == Turn.session_id).where(Session.deleted_at.is_(None))
    counts = {row[0]: row[1] for row in db.execute(query.where(Parse.profile == profile).group_by(Parse.version))}
    assert parse_versions.of_profile(db, state, profile).counts(state.alive) == counts
    return Counter(counts)


def older(engine: sa.Engine, session_ids: list[int], version: str) -> None:
    """Make the parses of these sessions those of another version, as a replay does."""
    with writing(engine) as connection:
        of_session = sa.select(Turn.id).where(Turn.session_id.in_(session_ids))
        connection.execute(sa.update(Parse).where(Parse.turn_id.in_(of_session)).values(version=version))
        connection.execute(sa.update(Session).where(Session.id.in_(session_ids)).values(changed=change()))


def test_versions_are_a_recount(engine: sa.Engine, settings: Settings, bring: Bring, db: orm.Session) -> None:
    bring(lines(200, 10), filename="one.jsonl")
    assert check(db).total() == 200
    ids = list(db.scalars(sa.select(Session.id).order_by(Session.id)))
    older(engine, ids[:5], "0.1")
    assert check(db)["0.1"] == 50
    older(engine, ids[3:8], "0.2")
    assert check(db)["0.2"] == 50
    bring(lines(230, 10), filename="two.jsonl")
    keys = list(db.scalars(sa.select(Session.key).order_by(Session.id)))
    deletion.delete(db, keys[:2])
    db.commit()
    assert check(db).total() == 210
    deletion.undo(db, keys[:1])
    db.commit()
    assert check(db)["0.1"] == 20
    runs.replay(engine, settings, "direct", processes=1)
    assert len(check(db)) == 1
    parse_versions.warm(engine)
    check(db, "json-repair")


def test_a_groups_rates_by_version_are_of_the_parses_of_that_version(
    engine: sa.Engine, bring: Bring, db: orm.Session
) -> None:
    bring(lines(60, 10))
    ids = list(db.scalars(sa.select(Session.id).order_by(Session.id)))
    older(engine, ids[:2], "0.1")
    db.rollback()
    key = groups.page(db, Filters()).groups[0].key
    rates = {rate.name: rate.of for rate in group_detail.find(db, key, Filters()).versions}
    assert sum(of or 0 for of in rates.values()) == 60 and rates["direct 0.1"] == 20

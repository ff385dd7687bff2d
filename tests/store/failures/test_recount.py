"""A group's counts are a recount of all that is stored: after growth, home changes, replays, merges and deletions."""

from __future__ import annotations

import json
import os
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from tests.parsing.made_failures import made
from tests.store.failures.recount import check, recount
from tests.store.made import Bring
from webapp.config import Settings
from webapp.store.db.database import writing
from webapp.store.failures import events, groups
from webapp.store.homes import changes
from webapp.store.jobs import replays
from webapp.store.labels import labels
from webapp.store.models import FailedResponse, Parse, Session, Turn
from webapp.store.sessions import deletion
from webapp.store.sessions.filters import Filters
from webapp.store.write.parser import Home

RESPONSES = int(os.environ.get("FENCEPOST_TEST_RESPONSES", "300"))
"""how many are made: 10,000 take two minutes"""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def lines(count: int, a_session: int, first: int = 0) -> bytes:
    """So many made responses, `a_session` of them in each session, a minute apart."""
    rows: list[dict[str, Any]] = []
    for number, one in enumerate(made(count, seed=9)):
        session, at = divmod(number, a_session)
        when = BEGAN + timedelta(hours=session, minutes=at)
        rows.append(
            {
                "session_id": f"s{first + session}",
                "recorded_at": when.isoformat(),
                "kind": "response",
                "text": one.raw,
                "model": f"m{number % 3}",
            }
        )
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_counts_are_a_recount(engine: sa.Engine, settings: Settings, bring: Bring, db: orm.Session) -> None:
    count = RESPONSES if engine.dialect.name == "sqlite" else RESPONSES // 2
    whole = lines(count, 40)
    bring(b"".join(whole.splitlines(keepends=True)[: count * 9 // 10 - 13]), filename="one.jsonl")
    assert check(db) > count / 2

    bring(whole, filename="two.jsonl")  # what is new, and the rest of a session that was begun
    assert check(db, model="m1") > count / 10

    ids = list(db.scalars(sa.select(Session.id).order_by(Session.id)))
    changes.work(engine, changes.begin(engine, ids[::3], Home("json-repair", "told")))
    changes.work(engine, changes.begin(engine, ids[1::9], Home("unknown", "declined")))
    check(db)

    replays.replay(engine, settings, "strip-fences", filters=Filters(model="m2"))
    check(db, "strip-fences")
    check(db, "direct")

    keys = list(db.scalars(sa.select(Session.key).order_by(Session.id)))
    deletion.delete(db, keys[2::11])
    db.commit()
    failed = check(db)
    deletion.undo(db, keys[2::22])
    db.commit()
    assert check(db, anew=True) > failed

    label_some(db)
    check(db)
    merged(db)


def label_some(db: orm.Session) -> None:
    turn_ids = list(db.scalars(sa.select(FailedResponse.turn_id).distinct().limit(200)))
    for turn_id in random.Random(3).sample(turn_ids, 20):
        turn = db.get(Turn, turn_id)
        assert turn is not None
        labels.put(db, turn, author="ada", judgement="missed")
    db.commit()


def merged(db: orm.Session) -> None:
    expected = recount(db)
    one, other = sorted(expected, key=lambda key: -expected[key].count)[:2]
    events.merge(db, other, one, author="ada", reason="the same prompt")
    db.commit()
    shown = {line.key: line for line in groups.page(db, Filters(), limit=500).groups}
    assert other not in shown and shown[one].merged == [other]
    assert shown[one].count == expected[one].count + expected[other].count
    assert shown[one].sessions == len(expected[one].sessions | expected[other].sessions)
    events.unmerge(db, other, author="bob", reason="it was another prompt")
    db.commit()
    again = {line.key: line.count for line in groups.page(db, Filters(), limit=500).groups}
    assert (again[one], again[other]) == (expected[one].count, expected[other].count)
    assert sum(again.values()) == sum(one.count for one in expected.values())


def test_replays_of_our_own_profile_renew_other_profiles_groups(
    engine: sa.Engine, settings: Settings, bring: Bring, db: orm.Session
) -> None:
    bring(lines(60, 20))
    before = {key: one.count for key, one in recount(db).items()}
    with writing(engine) as connection:
        connection.execute(sa.update(Parse).where(Parse.profile == "fencepost").values(version="0"))
        connection.execute(sa.update(FailedResponse).values(group_key="v1|something else"))
    db.rollback()
    replays.replay(engine, settings, "fencepost")
    check(db, anew=True)
    assert {key: one.count for key, one in recount(db).items()} == before

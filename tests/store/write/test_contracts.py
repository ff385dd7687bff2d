"""What requests declare is stored once, and how their responses keep it is made anew with all else."""

from __future__ import annotations

import io
import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import orm

from tests.contracts.dialects import chat
from webapp.config import Settings
from webapp.store import derive
from webapp.store.ingest.start import ingest
from webapp.store.jobs import pruning
from webapp.store.labels import labels
from webapp.store.models import Declaration, Session, Turn, TurnContract

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = [("count", SCHEMA)]


def stored(engine: sa.Engine, settings: Settings, *lines: object) -> None:
    body = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    assert not ingest(engine, settings, io.BytesIO(body), filename="log.jsonl").problems


def states(connection: sa.Connection) -> Counter[str]:
    return Counter(connection.scalars(sa.select(TurnContract.state)))


def test_many_turns_share_a_declaration_and_each_has_a_state(engine: sa.Engine, settings: Settings) -> None:
    calls = [chat(TOOLS, "count", {"n": n if n % 4 else str(n)}) for n in range(40)]
    unknown, bare = chat(TOOLS, "counts", {"n": 1}), chat([], "count", {"n": 50})
    del bare["request"]["tools"]
    stored(engine, settings, *calls, unknown, bare)
    with engine.begin() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(Declaration)) == 1
        assert states(connection) == {"kept": 30, "schema_mismatch": 10, "unknown_name": 1}
        before = connection.execute(sa.select(TurnContract.turn_id, TurnContract.state).order_by("turn_id")).all()
        derive.derive(connection, connection.scalars(sa.select(Session.id)).all())
        after = connection.execute(sa.select(TurnContract.turn_id, TurnContract.state).order_by("turn_id")).all()
        assert after == before
        detail = connection.scalars(sa.select(TurnContract.detail).where(TurnContract.state == "schema_mismatch")).all()
        assert {one["mismatches"][0]["span"][0] for one in detail if one} == {6}
        assert set(connection.scalars(sa.select(Turn.arguments))) == {None, "written"}


def test_another_dump_with_the_same_tools_brings_no_other_row(engine: sa.Engine, settings: Settings) -> None:
    for number in range(3):
        line = chat(TOOLS, "count", {"n": number})
        line["response"]["choices"][0]["finish_reason"] = "length"
        stored(engine, settings, line)
    stored(engine, settings, chat([("other", SCHEMA)], "other", {"n": 1}))
    later = datetime.now(UTC) + timedelta(days=1)
    with orm.Session(engine) as db:
        labels.put(
            db, db.scalars(sa.select(Turn).where(Turn.agent == "count")).first(), author="ann", judgement="right"
        )
        assert db.scalar(sa.select(sa.func.count()).select_from(Declaration)) == 2
    assert pruning.prune(engine, settings, later).sessions == 3
    with engine.connect() as connection:
        assert [one["tools"][0]["name"] for one in connection.scalars(sa.select(Declaration.content))] == ["count"]
        stops = connection.execute(sa.select(Turn.stop, Turn.stop_said).where(Turn.stop.is_not(None))).all()
        assert {tuple(stop) for stop in stops} == {("length", "length")}

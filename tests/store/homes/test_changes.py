"""A home profile that is changed afterwards leaves what a fresh database has that got it from the start."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, facets, windlass
from webapp.config import Settings
from webapp.store import search, tasks
from webapp.store.db.database import writing
from webapp.store.homes import changes
from webapp.store.models import TURNS_A_SESSION, Base, FailedResponse, Finding, Parse, Session, Turn
from webapp.store.write.parser import Home

TEXTS = (
    '{"a": 1}',
    '{"a": 1,}',
    'Sure: {"tool": "run", "arguments": {"x": 1}}',
    '```json\n{"a": [1, 2]}\n```',
    '```json\n{"a": [1, 2]}}\n```',
    "Nothing to see.",
    '{"a": "cut',
    CALL,
    BROKEN,
    "{'a': None}",
)
NOT_DERIVED = (
    *("home_change", "former_profile", "former_source"),
    *("id", "dump_id", "changed", "grown_at", "ingested_at", "happened_at", "home_source"),
)
DIRECT = Home("direct", "told")


def logs(count: int) -> bytes:
    """Recordings of somebody's own, many in one file, of up to thirty responses."""
    chance = random.Random(13)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        for turn in range(chance.randint(1, 30)):
            about = {
                "session_id": f"chat {number}",
                "recorded_at": f"2026-01-{number % 28 + 1:02}T10:{turn // 60:02}:{turn % 60:02}Z",
            }
            rows.append(about | {"kind": "prompt", "text": f"Question {turn}"})
            text = chance.choice(TEXTS).replace("1", str(chance.randrange(10)))
            rows.append(about | {"kind": "response", "text": text, "model": f"m{turn % 3}"})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture
def bring_unknown(bring: Bring, settings: Settings) -> Bring:
    """As `bring`, in an installation whose setting names no parser."""
    object.__setattr__(settings, "home", "unknown")
    return bring


def snapshot(engine: sa.Engine) -> dict[str, Any]:
    """All rows that follow from a home profile, without numbers and times: pages and queues are made of them."""
    with orm.Session(engine) as db:
        names = [column.name for column in Session.__table__.columns if column.name not in NOT_DERIVED]
        stored = db.scalars(sa.select(Session).order_by(Session.external_id)).all()
        rows = {row.external_id: {name: getattr(row, name) for name in names} for row in stored}
        ids = {row.id: row.external_id for row in stored}
        seen = {"sessions": rows, "parses": parses(db, ids), "findings": found(db, ids), "notes": notes(db, ids)}
        return seen | {"failed": failed(db, ids), "facets": {name: facets(db, name) for name in rows}}


def parses(db: orm.Session, ids: dict[int, str]) -> set[tuple[Any, ...]]:
    query = sa.select(Turn.session_id, Turn.ordinal, Parse.profile, Parse.version, Parse.verdict, Parse.strategy)
    rows = db.execute(query.add_columns(Parse.repairs).join(Parse, Parse.turn_id == Turn.id)).all()
    return {(ids[row.session_id], *row[1:]) for row in rows}


def failed(db: orm.Session, ids: dict[int, str]) -> set[tuple[Any, ...]]:
    """The failed responses, with the groups that they are in."""
    query = sa.select(Turn.session_id, Turn.ordinal, FailedResponse.under, FailedResponse.group_key)
    rows = db.execute(query.join(FailedResponse, FailedResponse.turn_id == Turn.id)).all()
    return {(ids[row.session_id], *row[1:]) for row in rows}


def found(db: orm.Session, ids: dict[int, str]) -> list[tuple[Any, ...]]:
    rows = db.scalars(sa.select(Finding).order_by(Finding.id))
    return sorted((ids[row.session_id], row.rule, row.severity, row.turns, str(row.detail)) for row in rows)


def notes(db: orm.Session, ids: dict[int, str]) -> list[tuple[Any, ...]]:
    """What the search index says of each session, by the session and the place in it."""
    size = TURNS_A_SESSION * search.SLOTS
    rows = db.execute(sa.text("SELECT rowid, text FROM search_note")).all()
    return sorted((ids[key // size], key % size, bytes(text)) for key, text in rows if key // size in ids)


def empty(engine: sa.Engine) -> None:
    with writing(engine) as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())
        search.rebuild(connection)


def change_all(engine: sa.Engine, home: Home) -> int:
    with engine.connect() as connection:
        ids = connection.scalars(sa.select(Session.id)).all()
    number = changes.begin(engine, ids, home)
    assert changes.work(engine, number)
    return number


def test_changed_it_is_as_if_it_had_come_so(bring_unknown: Bring, engine: sa.Engine) -> None:
    count = 16 if engine.dialect.name == "sqlite" else 6  # of a hundred texts
    log = logs(count)
    bring_unknown(log, filename="log.jsonl")
    without = snapshot(engine)
    assert without["sessions"]["chat 0"]["home_profile"] == "unknown"
    change_all(engine, DIRECT)
    changed = snapshot(engine)
    empty(engine)
    bring_unknown(log, filename="log.jsonl", home="direct")
    fresh = snapshot(engine)
    for part, value in fresh.items():
        assert changed[part] == value, part
    responses = sum(row["response_count"] for row in changed["sessions"].values())
    assert responses >= 12 * count
    assert sum(row["failed_count"] for row in changed["sessions"].values()) > 2 * count
    assert changed["findings"] != without["findings"]


def test_undone_it_is_as_it_was(bring_unknown: Bring, engine: sa.Engine) -> None:
    bring_unknown(logs(6), filename="log.jsonl")
    before = snapshot(engine)
    number = change_all(engine, DIRECT)
    assert snapshot(engine) != before
    undoing = changes.begin_undoing(engine, number)
    assert changes.work(engine, undoing)
    after = snapshot(engine)
    of_direct = {row for row in after["parses"] if row[2] == "direct"}
    assert of_direct and after["parses"] - of_direct == before["parses"], "what a parser made of the responses stays"
    assert {name: row["strip"] for name, row in after["sessions"].items()} == {
        name: row["strip"] for name, row in before["sessions"].items()
    }
    for part in ("findings", "notes"):
        assert after[part] == before[part], part
    with engine.connect() as connection:
        assert tasks.find(connection, number).about["undone"]
        assert connection.scalars(sa.select(Session.home_source).distinct()).all() == ["unknown"]


def test_an_undoing_leaves_what_was_changed_since(bring_unknown: Bring, engine: sa.Engine) -> None:
    bring_unknown(logs(2), filename="log.jsonl")
    first = change_all(engine, DIRECT)
    with engine.connect() as connection:
        ids = connection.scalars(sa.select(Session.id).order_by(Session.id)).all()
    changes.work(engine, changes.begin(engine, ids[:1], Home("four-tier", "told")))
    changes.work(engine, changes.begin_undoing(engine, first))
    with engine.connect() as connection:
        homes = connection.scalars(sa.select(Session.home_profile).order_by(Session.id)).all()
    assert homes == ["four-tier", "unknown"]


def test_what_was_said_last_holds_whichever_is_done_first(bring_unknown: Bring, engine: sa.Engine) -> None:
    bring_unknown(logs(3), filename="log.jsonl")
    with engine.connect() as connection:
        ids = list(connection.scalars(sa.select(Session.id).order_by(Session.id)))
    first = changes.begin(engine, ids, Home("langchain", "told"))
    second = changes.begin(engine, ids[1:], DIRECT)
    assert changes.work(engine, second) and changes.work(engine, first)
    with engine.connect() as connection:
        homes = sa.select(Session.home_profile).order_by(Session.id)
        assert list(connection.scalars(homes)) == ["langchain", *["direct"] * (len(ids) - 1)]


def test_a_cancelled_change_leaves_the_rest(bring_unknown: Bring, engine: sa.Engine) -> None:
    bring_unknown(logs(3), filename="log.jsonl")
    with engine.connect() as connection:
        ids = connection.scalars(sa.select(Session.id)).all()
    number = changes.begin(engine, ids, DIRECT)
    steps = iter((False, True))
    changes.work(engine, number, ends=lambda: next(steps))
    tasks.cancel(engine, number)
    assert changes.work(engine, number)
    with engine.connect() as connection:
        homes = sorted(connection.scalars(sa.select(Session.home_profile)))
    assert homes == ["direct", "unknown", "unknown"]


def test_the_same_file_again_with_a_home_gives_it(bring_unknown: Bring, engine: sa.Engine) -> None:
    log = logs(3)
    bring_unknown(log, filename="log.jsonl")
    again = bring_unknown(log, filename="log.jsonl", home="direct")
    assert (again.created, again.changed, again.dump.home) == (False, 3, "direct")
    with engine.connect() as connection:
        assert connection.scalars(sa.select(Session.home_profile).distinct()).all() == ["direct"]


def test_a_failure_that_the_dump_records_counts_under_an_unknown_home(bring_unknown: Bring, db: orm.Session) -> None:
    entries = [entry(BROKEN, model="m"), entry("That is no JSON.", "validation_error")]
    bring_unknown(windlass("s", entries))
    number = db.scalar(sa.select(Session.id))
    assert number is not None
    engine = db.get_bind()
    db.rollback()
    changes.work(engine, changes.begin(engine, [number], Home("unknown", "declined")))  # type: ignore[arg-type]
    session = db.scalars(sa.select(Session)).one()
    assert (session.home_profile, session.failed_count, session.strip) == ("unknown", 1, "s")

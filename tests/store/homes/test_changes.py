"""A home profile that is changed afterwards leaves what a fresh database has that got it from the start."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.derived import everything
from tests.store.made import BROKEN, CALL, Bring, entry, on_sqlite, windlass
from webapp.config import Settings
from webapp.store import derive, tasks
from webapp.store.db.database import writing
from webapp.store.db.ids import SLOTS
from webapp.store.homes import changes
from webapp.store.models import TURNS_A_SESSION, Base, Session
from webapp.store.search import index
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
CHOSEN = ("home_source", "home_change", "other_profile", "other_source")
"""columns of a session that say how it came to its home profile"""
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
    """All rows that follow from a home profile, by session: pages and queues are made of them."""
    with orm.Session(engine) as db:
        rows = db.scalars(sa.select(Session)).all()
        found = {row.external_id: everything(db, row) | {"notes": notes(db, row.id)} for row in rows}
    for one in found.values():
        one["session"] = {name: value for name, value in one["session"].items() if name not in CHOSEN}
    return found


def notes(db: orm.Session, session_id: int) -> dict[int, bytes]:
    """What the search index says of a session, by the place in it."""
    low, high = (number * TURNS_A_SESSION * SLOTS for number in (session_id, session_id + 1))
    query = sa.text("SELECT rowid, text FROM search_note WHERE rowid >= :low AND rowid < :high")
    return {key - low: bytes(text) for key, text in db.execute(query, {"low": low, "high": high})}


def empty(engine: sa.Engine) -> None:
    with writing(engine) as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())
        index.rebuild(connection)


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
    assert without["chat 0"]["session"]["home_profile"] == "unknown"
    change_all(engine, DIRECT)
    changed = snapshot(engine)
    empty(engine)
    bring_unknown(log, filename="log.jsonl", home="direct")
    for name, fresh in snapshot(engine).items():
        assert changed[name] == fresh, name
    assert sum(one["session"]["response_count"] for one in changed.values()) >= 12 * count
    assert sum(one["session"]["failed_count"] for one in changed.values()) > 2 * count
    assert any(changed[name]["findings"] != one["findings"] for name, one in without.items())


def test_undone_it_is_as_it_was(bring_unknown: Bring, engine: sa.Engine) -> None:
    bring_unknown(logs(6), filename="log.jsonl")
    before = snapshot(engine)
    number = change_all(engine, DIRECT)
    assert snapshot(engine) != before
    assert changes.work(engine, changes.begin_undoing(engine, number))
    for name, after in snapshot(engine).items():
        of_direct = {row for row in after["parses"] if row[1] == "direct"}
        assert of_direct and after["parses"] - of_direct == before[name]["parses"], "what a parser made stays"
        assert after["session"]["strip"] == before[name]["session"]["strip"]
        assert (after["findings"], after["notes"]) == (before[name]["findings"], before[name]["notes"])
    with engine.connect() as connection:
        assert tasks.find(connection, number).about["undone"]
        assert connection.scalars(sa.select(Session.home_source).distinct()).all() == ["unknown"]


@on_sqlite
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


@on_sqlite
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


def test_what_another_took_and_has_not_derived_is_derived_before_the_end(
    bring_unknown: Bring, engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException): ...

    def killed(*_: Any) -> None:
        raise Killed

    bring_unknown(logs(1))
    with engine.connect() as connection:
        ids = connection.scalars(sa.select(Session.id)).all()
    number = changes.begin(engine, ids, DIRECT)
    with monkeypatch.context() as other, pytest.raises(Killed):
        other.setattr(derive, "settle", killed)
        changes.work(engine, number)
    assert changes.work(engine, number)
    with engine.connect() as connection:
        session = connection.execute(sa.select(Session.home_profile, Session.failed_count, Session.stale)).one()
    assert session.home_profile == "direct"
    assert session.failed_count > 0
    assert not session.stale


@on_sqlite
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


@on_sqlite
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

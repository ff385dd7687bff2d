"""Spans that grow sessions: it comes to the same in whatever order they come, and all that is made follows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.dumps.formats.test_otlp import span
from tests.store.derived import everything
from tests.store.made import on_sqlite
from webapp import jsontext
from webapp.config import Settings
from webapp.store import derive, search
from webapp.store.db import database
from webapp.store.live import growth
from webapp.store.live.lookup import Arrived
from webapp.store.live.reading import arrived
from webapp.store.models import Finding, Session, Turn

START = 1_750_000_000_000_000_000
CUT = '{"numbers": [1, 2'
Gate = Callable[[list[Arrived], int], None]


def numbered(number: int, said: str | None = None, talk: str = "talk", **more: Any) -> dict[str, Any]:
    """A span that answers its number (or `said`), begun that many seconds after the first."""
    about = {"gen_ai.completion.0.content": said or f'{{"n": {number}}}', "gen_ai.conversation.id": talk, **more}
    return span(about, spanId=f"{number + 1:016x}", startTimeUnixNano=str(START + number * 10**9))


def came(*spans: dict[str, Any]) -> list[Arrived]:
    group = jsontext.loads(jsontext.dumps({"scopeSpans": [{"spans": list(spans)}]}))
    return [one for one in arrived([("", group)]) if isinstance(one, Arrived)]


@pytest.fixture
def gate(engine: sa.Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Sessions that grow are derived each time: nothing rests."""
    monkeypatch.setattr(derive, "SHARE", 0.0)
    return partial(growth.take, engine, settings)


def take(gate: Gate, *spans: dict[str, Any]) -> None:
    gate(came(*spans), 1)


def shown(db: orm.Session) -> list[str | None]:
    db.expire_all()
    return list(db.scalars(sa.select(Turn.raw).where(Turn.duplicate_of.is_(None)).order_by(Turn.position)))


def stored(db: orm.Session, name: str) -> dict[str, Any]:
    """All that is kept of a session, but for what names it."""
    db.expire_all()
    return everything(db, db.scalars(sa.select(Session).where(Session.external_id == name)).one())


def test_many_new_sessions_come_together(gate: Gate, db: orm.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_AT_ONCE", 5)
    spans = [numbered(0, talk=f"t{number}") | {"traceId": f"{number + 1:032x}"} for number in range(7)]
    take(gate, *spans)
    take(gate, *(one | {"spanId": "f" * 16} for one in spans))
    assert db.scalars(sa.select(Session.entry_count)).all() == [2] * 7


@on_sqlite
def test_a_session_that_a_later_span_names_is_found_by_its_name(gate: Gate, db: orm.Session) -> None:
    unnamed = numbered(0)
    unnamed["attributes"] = [pair for pair in unnamed["attributes"] if pair["key"] != "gen_ai.conversation.id"]
    take(gate, unnamed)
    take(gate, numbered(1, talk="renamed-later"))
    (session,) = db.scalars(sa.select(Session)).all()
    assert session.external_id == "renamed-later"
    assert search.sessions(db.connection(), "renamed", [], most=9)[0] == [session.id]
    assert search.sessions(db.connection(), unnamed["traceId"], [], most=9)[0] == []


def test_a_session_that_a_refused_span_names_is_found_by_its_name(
    gate: Gate, db: orm.Session, engine: sa.Engine
) -> None:
    unnamed = numbered(0)
    unnamed["attributes"] = [pair for pair in unnamed["attributes"] if pair["key"] != "gen_ai.conversation.id"]
    take(gate, unnamed)
    take(gate, numbered(0, talk="renamed-later"))
    derive.catch_up(engine)
    (session,) = db.scalars(sa.select(Session)).all()
    assert (session.external_id, session.turn_count) == ("renamed-later", 1)
    assert search.sessions(db.connection(), "renamed", [], most=9)[0] == [session.id]


def cut(db: orm.Session) -> list[int]:
    """The positions of the responses that end inside JSON."""
    db.expire_all()
    return db.scalars(sa.select(Finding.turns).where(Finding.rule == "cut_response")).one()


@on_sqlite
def test_a_session_that_grows_fast_rests_between_and_is_caught_up_with(
    gate: Gate, engine: sa.Engine, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(gate, numbered(0))
    monkeypatch.setattr(derive, "SHARE", 1e6)
    take(gate, numbered(1))
    take(gate, numbered(2))
    assert db.execute(sa.select(Session.strip, Session.stale)).one() == ("cc", True)
    derive.catch_up(engine)
    db.rollback()
    assert db.execute(sa.select(Session.strip, Session.stale)).one() == ("cc", True)
    derive.settle(engine, db.scalars(sa.select(Session.id)).all())
    db.rollback()
    assert db.execute(sa.select(Session.strip, Session.stale)).one() == ("ccc", False)


def test_who_derives_meanwhile_waits(gate: Gate, engine: sa.Engine, db: orm.Session) -> None:
    """Two processes do on PostgreSQL; neither may keep its own beside the other's."""
    take(gate, numbered(0, CUT))
    session_id = db.scalars(sa.select(Session.id)).one()
    db.rollback()

    def renew() -> None:
        with database.writing(engine) as connection:
            derive.derive(connection, [session_id])

    other = threading.Thread(target=renew)
    with database.writing(engine) as connection:
        derive.derive(connection, [session_id])
        other.start()
        other.join(0.3)
        assert other.is_alive()
    other.join(120)
    assert cut(db) == [0]

"""Spans that grow sessions: what is held between requests changes nothing, and the rules see each turn once."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.dumps.formats.test_otlp import span
from webapp import jsontext
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.live import Arrived, Gate, arrived, daily_dump, findings_worker, reading
from webapp.store.live.group_commit import _Ticket
from webapp.store.models import TURNS_A_SESSION, Finding, Session, Turn
from webapp.store.write import derived, finding_runner, stored_turns

START = 1_750_000_000_000_000_000
CUT = '{"numbers": [1, 2'


def numbered(number: int, said: str | None = None, talk: str = "talk", **more: Any) -> dict[str, Any]:
    """A span that answers its number (or `said`), begun that many seconds after the first."""
    about = {"gen_ai.completion.0.content": said or f'{{"n": {number}}}', "gen_ai.conversation.id": talk, **more}
    return span(about, spanId=f"{number + 1:016x}", startTimeUnixNano=str(START + number * 10**9))


def came(*spans: dict[str, Any]) -> list[Arrived]:
    group = jsontext.loads(jsontext.dumps({"scopeSpans": [{"spans": list(spans)}]}))
    return [one for one in arrived([("", group)]) if isinstance(one, Arrived)]


@pytest.fixture
def gate(engine: sa.Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    monkeypatch.setattr(findings_worker, "QUIET", 0.02)
    monkeypatch.setattr(findings_worker, "PAUSE", 0.0)
    yield Gate(engine, settings)
    settled()


def settled() -> None:
    """Wait until no session waits for the rules."""
    for thread in threading.enumerate():
        if thread.name == "findings of live sessions":
            thread.join(120)
            assert not thread.is_alive()


def take(gate: Gate, *spans: dict[str, Any]) -> None:
    gate.take(came(*spans), 1)


def shown(db: orm.Session) -> list[str | None]:
    db.expire_all()
    return list(db.scalars(sa.select(Turn.raw).where(Turn.duplicate_of.is_(None)).order_by(Turn.position)))


def stored(db: orm.Session, name: str) -> tuple[object, ...]:
    """All that is kept of a session, but for ids and how long parsing took."""
    db.expire_all()
    session = db.scalars(sa.select(Session).where(Session.external_id == name)).one()
    turns = db.scalars(sa.select(Turn).where(Turn.session_id == session.id).order_by(Turn.ordinal)).all()
    first = session.id * TURNS_A_SESSION
    rows = [
        (
            *(turn.position, turn.entry, turn.kind, turn.raw, turn.agent, turn.recorded_failure, turn.raw_at),
            turn.duplicate_of and turn.duplicate_of - first,
        )
        for turn in turns
    ]
    counters = (session.strip, session.entry_count, session.turn_count, session.failed_count, session.raw_bytes)
    return (*counters, session.models, (session.facets or {}).get("errors"), rows)


def talk_of(name: str) -> list[dict[str, Any]]:
    """Questions that are repeated, calls that could not be read, answers, and a tool that says so."""
    spans = []
    for number in range(0, 24, 3):
        call = {"type": "tool_call", "id": f"c{number}", "name": "f", "arguments": "{broken"}
        asked = [{"role": "user", "parts": [{"type": "text", "content": f"Q{at}"}]} for at in range(0, number + 1, 3)]
        said = {"gen_ai.output.messages": [{"role": "assistant", "parts": [call]}], "gen_ai.input.messages": asked}
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": f"c{number}"}
        failed = {"gen_ai.tool.call.result": "Error parsing arguments: invalid JSON", **tool}
        about = {"gen_ai.conversation.id": name}
        for at, one in enumerate((said, failed)):
            started = str(START + (number + at) * 10**9)
            spans.append(span({**one, **about}, spanId=f"{number + at + 1:016x}", startTimeUnixNano=started))
        spans.append(numbered(number + 2, talk=name))
    return [one | {"traceId": name.encode().hex().rjust(32, "0")} for one in spans]


@pytest.mark.parametrize("order", ["in order", "any order"])
def test_what_is_held_changes_nothing(
    engine: sa.Engine, settings: Settings, gate: Gate, db: orm.Session, order: str
) -> None:
    """Beside a process that is started anew for each request, and so reads all from the database."""
    chance = random.Random(3)
    kept, anew = talk_of("kept"), talk_of("anew")
    if order == "any order":
        places = chance.sample(range(len(kept)), len(kept))
        kept, anew = [kept[at] for at in places], [anew[at] for at in places]
    while kept:
        count = chance.randint(1, 3)
        take(gate, *kept[:count])
        take(Gate(engine, settings), *anew[:count])
        del kept[:count], anew[:count]
    settled()
    assert stored(db, "kept") == stored(db, "anew")
    assert stored(db, "kept")[3] == 8


def test_spans_that_follow_need_nothing_of_those_before(
    gate: Gate, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(gate, numbered(0))
    monkeypatch.setattr(reading, "_steps", forbidden)
    monkeypatch.setattr(stored_turns, "restored", forbidden)
    for number in range(1, 50):
        take(gate, numbered(number))
    settled()
    take(gate, numbered(50))
    assert shown(db) == [f'{{"n": {number}}}' for number in range(51)]


def forbidden(*_: object) -> None:
    raise AssertionError("read from the database")


def test_sessions_that_grew_longest_ago_are_read_again(gate: Gate, db: orm.Session) -> None:
    gate._growing._held.most = 90_000
    for number in range(3):
        for name in "abc":
            take(gate, numbered(number, talk=name) | {"traceId": name.encode().hex() * 16})
    assert len(gate._growing._held) == 1
    names = db.scalars(sa.select(Session.external_id).where(Session.turn_count == 3).order_by(Session.external_id))
    assert list(names) == ["a", "b", "c"]


def test_a_text_of_much_is_not_held(gate: Gate, db: orm.Session) -> None:
    texts = [f"{number}" * reading.MOST_TAIL for number in range(3)]
    for number, text in enumerate(texts):
        take(gate, numbered(number, text))
    assert shown(db) == texts


def test_many_new_sessions_come_together(gate: Gate, db: orm.Session) -> None:
    spans = [numbered(0, talk=f"t{number}") | {"traceId": f"{number + 1:032x}"} for number in range(600)]
    take(gate, *spans)
    take(gate, *(one | {"spanId": "f" * 16} for one in spans))
    assert db.scalars(sa.select(Session.entry_count)).all() == [2] * 600


def test_whose_spans_are_written_again_loses_no_text(
    gate: Gate, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where requests fail together, each is written alone, from the same spans."""
    count, failures = daily_dump.count, [RuntimeError("once")]

    def failing(*given: Any) -> None:
        if failures:
            raise failures.pop()
        count(*given)

    monkeypatch.setattr(daily_dump, "count", failing)
    tickets = [_Ticket(came(numbered(number)), 1) for number in (0, 1)]
    gate._write(tickets)
    assert [ticket.error for ticket in tickets] == [None, None]
    assert shown(db) == ['{"n": 0}', '{"n": 1}']


def cut(db: orm.Session) -> list[int]:
    """The positions of the responses that end inside JSON."""
    db.expire_all()
    return db.scalars(sa.select(Finding.turns).where(Finding.rule == "cut_response")).one()


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The positions that the rules are shown from the database."""
    positions: list[int] = []
    view: Callable[..., Any] = finding_runner.turn_view

    def viewing(placed: Any, *more: Any) -> Any:
        positions.append(placed.position)
        return view(placed, *more)

    monkeypatch.setattr(finding_runner, "turn_view", viewing)
    return positions


def test_the_rules_go_on_where_they_were(gate: Gate, db: orm.Session, seen: list[int]) -> None:
    take(gate, numbered(0), numbered(1))
    for number in (2, 4, 6):
        take(gate, numbered(number, CUT), numbered(number + 1))
        settled()
    assert cut(db) == [2, 4, 6]
    assert seen == list(range(8))
    facets = db.scalars(sa.select(Session.facets)).one()
    assert facets is not None
    assert facets["finding"]["cut_response"] == 1


def test_where_turns_moved_the_rules_begin_anew(gate: Gate, db: orm.Session, seen: list[int]) -> None:
    take(gate, numbered(0))
    take(gate, numbered(5, CUT))
    settled()
    assert cut(db) == [1]
    take(gate, numbered(3))
    settled()
    assert cut(db) == [2]
    assert len(seen) == 2 + 3


def test_a_session_that_another_process_grew_is_looked_at_from_the_start(
    gate: Gate, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    take(gate, numbered(0))
    take(gate, numbered(1, CUT))
    settled()
    take(Gate(engine, settings), numbered(2, CUT))
    take(gate, numbered(3, CUT))
    settled()
    assert cut(db) == [1, 2, 3]


def test_who_renews_the_findings_meanwhile_waits(gate: Gate, engine: sa.Engine, db: orm.Session) -> None:
    """Two processes do on PostgreSQL; neither may keep its own beside the other's."""
    take(gate, numbered(0, CUT))
    take(gate, numbered(1))
    settled()
    session_id = db.scalars(sa.select(Session.id)).one()
    db.rollback()

    def renew() -> None:
        with database.writing(engine) as connection:
            derived.refold(connection, session_id)

    other = threading.Thread(target=renew)
    with database.writing(engine) as connection:
        derived.refold(connection, session_id)
        other.start()
        other.join(0.3)
        assert other.is_alive()
    other.join(120)
    assert cut(db) == [0]


def test_findings_that_are_the_same_are_not_written(gate: Gate, db: orm.Session) -> None:
    take(gate, numbered(0, CUT))
    take(gate, numbered(1))
    settled()
    before = db.scalars(sa.select(Session.changed)).one()
    first = cut(db)
    gate._quiet.grew(findings_worker.Count(db.scalars(sa.select(Session.id)).one(), False, 1, before, before))
    settled()
    db.expire_all()
    assert db.scalars(sa.select(Session.changed)).one() == before
    assert cut(db) == first == [0]


def test_long_sessions_are_read_in_parts_and_the_thread_rests(
    gate: Gate, db: orm.Session, seen: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    monkeypatch.setattr(findings_worker, "PAUSE", 1000.0)
    monkeypatch.setattr(findings_worker, "rest", rests.append)
    take(gate, *(numbered(number) for number in range(450)))
    take(gate, numbered(450, CUT))
    settled()
    assert cut(db) == [450]
    assert len(seen) == 451
    assert len([rest for rest in rests if rest > 0.5]) == 3


def test_who_waits_for_one_that_is_interrupted_is_written_by_the_next(
    gate: Gate, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = _Ticket(came(numbered(1)), 1)
    gate._waiting.append(waiting)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Gate, "_commit", interrupted)
        take(gate, numbered(0))
    assert not waiting.finished
    take(gate, numbered(2))
    assert waiting.finished and waiting.error is None
    assert shown(db) == ['{"n": 1}', '{"n": 2}']


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt

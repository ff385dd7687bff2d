"""The change that the first page speaks of: found where it was made, and silent where only chance is."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import orm

from tests.dumps.formats.test_otlp import span, trace
from tests.store.made import Bring, on_sqlite
from webapp.store.sessions.filters import Filters
from webapp.store.statistics.incident import LEVEL, Point, change, incident

BEGAN = datetime(2026, 11, 8, tzinfo=UTC)


def made(chance: random.Random, rate: float, sessions: int, first: int = 0, together: float = 0.0) -> list[Point]:
    """Sessions a minute apart, of 1 to 12 responses; with `together` those of a session fail or are well together."""
    samples = []
    for at in range(first, first + sessions):
        own = rate if not together else chance.betavariate(rate / together, (1 - rate) / together)
        of = chance.randint(1, 12)
        failed = sum(chance.random() < own for _ in range(of))
        when = BEGAN + timedelta(minutes=at)
        samples.append(Point(when, of, failed, when if failed else None))
    return samples


@pytest.mark.parametrize("together", [0.0, 0.3, 1.0])
def test_where_nothing_changed_it_speaks_at_most_one_time_in_twenty(together: float) -> None:
    chance = random.Random(7)
    rounds = 400
    alarms = 0
    for _ in range(rounds):
        of_models = {"steady": made(chance, 0.1, 60, together=together)}
        of_models |= {"new": made(chance, 0.1, 30, 30, together), "gone": made(chance, 0.1, 30, 0, together)}
        alarms += change(of_models) is not None
    assert alarms <= LEVEL * rounds


def test_a_change_within_a_model_is_found_with_its_time_and_intervals() -> None:
    chance, within = random.Random(3), 0
    for _ in range(20):
        steady = made(chance, 0.3, 120, together=0.2)
        worse = made(chance, 0.06, 60, together=0.1) + made(chance, 0.4, 60, 60, together=0.1)
        found = change({"steady": steady, "worse": worse})
        assert found is not None and found.model == "worse" and not found.is_new
        assert abs(found.since - (BEGAN + timedelta(minutes=60))) <= timedelta(minutes=8)
        assert found.after.low is not None and found.after.high is not None
        within += found.after.low < 0.4 < found.after.high
    assert within >= 17, "of 20 intervals of 95 %"


def test_a_new_model_is_held_against_the_others_before() -> None:
    chance = random.Random(5)
    found = change({"old": made(chance, 0.06, 100), "gpt-x": made(chance, 0.4, 40, 60)})
    assert found is not None and (found.model, found.is_new) == ("gpt-x", True)
    assert found.since >= BEGAN + timedelta(minutes=60)


def test_it_is_asked_of_what_is_stored(bring: Bring, db: orm.Session) -> None:
    lines: list[str] = []
    for at in range(24):
        when = (BEGAN + timedelta(hours=at)).isoformat()
        text = '{"a": 1}' if at < 12 else '{"a": 1,}'
        row = {"session_id": f"s{at}", "recorded_at": when, "kind": "response", "model": "m"}
        lines += [json.dumps(row | {"text": text if number else "{}"}) for number in range(5)]
    bring("\n".join(lines).encode(), filename="s.jsonl", home="direct")
    found = incident(db, Filters())
    assert found.step == "hour" and len(found.steps) == 24 and not found.cut
    assert [line.model for line in found.series] == ["m"]
    assert sum(of for of, _ in found.series[0].points) == 120
    assert found.change is not None and found.change.since == BEGAN + timedelta(hours=12)
    assert (found.change.before.count, found.change.after.count, found.change.after.of) == (0, 48, 60)
    assert incident(db, Filters(until="2026-11-08T12:00")).change is None


def test_what_has_no_time_stands_where_it_came_in_and_is_no_change(bring: Bring, db: orm.Session) -> None:
    timed = [{"session_id": f"s{at}", "recorded_at": (BEGAN + timedelta(hours=at)).isoformat()} for at in range(12)]
    rows = [
        row | {"kind": "response", "text": "{}"} for row in [*timed, *({"session_id": f"n{at}"} for at in range(24))]
    ]
    lines = [json.dumps(row | ({} if "recorded_at" in row else {"text": '{"a": 1,}'})) for row in rows]
    bring("\n".join(lines).encode(), filename="s.jsonl", home="direct")
    found = incident(db, Filters())
    assert (found.change, found.timeless) == (None, 24)


def chat(at: int, service: str, **messages: Any) -> bytes:
    """The span of a chat, begun so many hours after `BEGAN`, by a service that is also called so as a host."""
    said = {f"gen_ai.{key}.messages": json.dumps([message]) for key, message in messages.items()}
    start = str(int((BEGAN + timedelta(hours=at)).timestamp() * 1e9))
    times = {"startTimeUnixNano": start, "endTimeUnixNano": start}
    one = span({"gen_ai.request.model": "m", "server.address": service, **said}, traceId=f"{at + 1:032x}", **times)
    return trace(one, resource={"service.name": service, "service.version": service}).encode()


def said(text: str, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


@pytest.mark.parametrize("by", ["service", "host", "version"])
def test_a_series_is_a_service_a_host_or_a_version_as_well(by: str, bring: Bring, db: orm.Session) -> None:
    for at, name in enumerate(["east", "west"] * 3):
        bring(chat(at, name, output=said("{}" if name == "east" else '{"a": 1,}')), f"{at}.json", home="direct")
    found = incident(db, Filters(), by)
    counts = {line.model: [sum(one) for one in zip(*line.points, strict=True)] for line in found.series}
    assert (found.by, counts) == (by, {"east": [3, 0], "west": [3, 3]})
    assert {line.model for line in incident(db, Filters(model="m"), by).series} == counts.keys()
    assert not found.news, "two that take turns are no news"


def test_news_is_what_chance_would_not_put_so_late_and_a_stray_old_session_stretches_no_axis(
    bring: Bring, db: orm.Session
) -> None:
    lines = []
    for at in range(40):
        model = "late" if at >= 30 else "once" if at == 20 else "m"
        when = BEGAN + (timedelta(hours=at) if at else timedelta(days=-400))
        row = {"session_id": f"s{at}", "recorded_at": when.isoformat(), "kind": "response", "model": model}
        lines.append(json.dumps(row | {"text": "{}"}))
    bring("\n".join(lines).encode(), filename="s.jsonl", home="direct")
    found = incident(db, Filters())
    assert found.news == [(BEGAN + timedelta(hours=30), "new model late")]
    assert (found.step, found.steps[0][0]) == ("hour", BEGAN + timedelta(hours=1)) and found.older_than is not None
    assert sum(of for line in found.series for of, _ in line.points) == 39
    assert incident(db, Filters(model="once")).older_than is None


@on_sqlite
def test_a_service_that_only_asked_behind_the_only_response_is_no_news(bring: Bring, db: orm.Session) -> None:
    for at, messages in enumerate(({"output": said("{}")}, {"input": said("hi", "user")})):
        bring(chat(at, f"s{at}", **messages), f"{at}.json", home="direct")
    assert incident(db, Filters()).news == []

"""Messages that instrumentations write into log records: put to their spans in any order, live and in files."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from tests.dumps.formats.test_otlp import TRACE, listed, span, typed
from webapp.extensions import db
from webapp.store.live import growth, logs
from webapp.store.models import Dump, LiveLog, Turn

START = 1_750_000_000_000_000_000
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"q\": 'x'}"}}
USAGE = {"gen_ai.operation.name": "chat", "gen_ai.response.model": "m1", "gen_ai.usage.input_tokens": 11}


def record(number: int, name: str, body: Any, at: int, **more: Any) -> dict[str, Any]:
    """A log record of the span `number`, `at` milliseconds after it began."""
    when = str(START + number * 10**9 + at * 10**6)
    about = {"traceId": TRACE, "spanId": f"{number + 1:016x}", "body": typed(body), **more}
    return {**about, "timeUnixNano": when, "attributes": listed({"gen_ai.system": "openai", "event.name": name})}


def call(number: int) -> dict[str, Any]:
    """A call of a model as openai-v2 traces it: its messages are elsewhere."""
    usage = {**USAGE, "gen_ai.usage.output_tokens": 7 + number}
    return span(usage, spanId=f"{number + 1:016x}", startTimeUnixNano=str(START + number * 10**9), name="chat m1")


def choice(number: int, message: dict[str, Any], at: int = 9) -> dict[str, Any]:
    return record(number, "gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": message}, at)


ASKED = [record(0, "gen_ai.system.message", {"content": "be brief"}, 1)]
ASKED += [record(0, "gen_ai.user.message", {"content": "find x"}, 1)]
FIRST = [*ASKED, choice(0, {"role": "assistant", "tool_calls": [CALL]})]
SECOND = [
    record(1, "gen_ai.user.message", {"content": "find x"}, 1),
    record(1, "gen_ai.assistant.message", {"tool_calls": [CALL]}, 2),
    record(1, "gen_ai.tool.message", {"content": "found 3", "id": "call_1"}, 3),
    choice(1, {"role": "assistant", "content": '{"answer": 3,}'}),
]
SAID = {"be brief", "find x", "{\"q\": 'x'}", "found 3", '{"answer": 3,}'}


def wrapped(records: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"logRecords": records}]}]}


def traced(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": list(spans)}]}]}


@pytest.fixture
def app(make: Callable[..., Flask], monkeypatch: pytest.MonkeyPatch) -> Iterator[Flask]:
    monkeypatch.setattr("webapp.store.derive.SHARE", 0.0)
    yield make()


def turns(client: FlaskClient, kinds: tuple[str, ...] = ("prompt", "response", "tool_call", "tool_result")) -> Any:
    found = client.get(f"/api/session/{TRACE}?limit=100").json["turns"]
    return [turn for turn in found if turn["kind"] in kinds]


def raws(app: Flask) -> list[str | None]:
    with app.app_context():
        query = sa.select(Turn.raw).where(Turn.duplicate_of.is_(None))
        return list(db.session.scalars(query.order_by(Turn.position)))


REQUESTS = {"logs": [FIRST, SECOND], "spans": [call(0), call(1)]}
ORDERS = [("logs", 0), ("logs", 1), ("spans", 0), ("spans", 1)]


@pytest.mark.parametrize("order", list(itertools.permutations(ORDERS))[::8], ids=str)
def test_messages_come_to_their_spans_in_any_order(client: FlaskClient, app: Flask, order: Any) -> None:
    """Whatever came first, and though all of it comes twice: each answer once, and the model and its tokens."""
    for kind, number in [*order, *order]:
        body = REQUESTS[kind][number]
        path, value = ("/v1/logs", wrapped(body)) if kind == "logs" else ("/v1/traces", traced(body))
        answer = client.post(path, json=value)
        assert (answer.status_code, answer.json) == (200, {})
    shown = [raw for raw in raws(app) if raw]
    assert set(shown) == SAID
    answers = turns(client, ("response", "tool_call"))
    assert [turn["model"] for turn in answers] == ["m1", "m1"]
    with app.app_context():
        assert db.session.scalar(sa.select(sa.func.sum(Turn.tokens_out))) == 15
        assert db.session.scalar(sa.select(sa.func.count()).select_from(LiveLog)) == 0
        assert "was sent again" in json.dumps(db.session.scalars(sa.select(Dump.problems)).one())


def test_logs_whose_span_never_comes_are_shown_in_the_end(
    client: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.post("/v1/logs", json=wrapped(FIRST))
    with app.app_context():
        growth.show_overdue(db.engine, app.config["SETTINGS"])  # a minute is not over
    assert raws(app) == []
    monkeypatch.setattr(logs, "WAIT", timedelta(0))
    with app.app_context():
        growth.show_overdue(db.engine, app.config["SETTINGS"])
    assert raws(app) == ["be brief", "find x", CALL["function"]["arguments"]]
    client.post("/v1/logs", json=wrapped(FIRST))
    client.post("/v1/traces", json=traced(call(0)))
    assert [raw for raw in raws(app) if raw] == ["be brief", "find x", CALL["function"]["arguments"]]


def test_what_is_not_kept_is_said(client: FlaskClient, app: Flask) -> None:
    """A program's own logs, and messages without a trace, which belong to no call."""
    own = {"body": {"stringValue": "started"}, "traceId": TRACE}
    lost = choice(0, {"role": "assistant", "content": "A"}) | {"traceId": ""}
    partial = client.post("/v1/logs", json=wrapped([own, lost, ASKED[0]])).json["partialSuccess"]
    assert partial["rejectedLogRecords"] == "2"
    assert "logRecords[1]: it carries messages of a model, and no trace id" in partial["errorMessage"]
    assert "OTEL_LOGS_EXPORTER=none" in partial["errorMessage"]
    with app.app_context():
        assert db.session.scalar(sa.select(sa.func.count()).select_from(LiveLog)) == 1


def test_one_event_that_holds_all_messages(client: FlaskClient, app: Flask) -> None:
    """The conventions from 1.37 on, with OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=EVENT_ONLY."""
    asked = [{"role": "user", "parts": [{"type": "text", "content": "find x"}]}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "{x: 1}"}], "finish_reason": "stop"}]
    event = record(0, "gen_ai.client.inference.operation.details", "", 5)
    event["attributes"] += listed({"gen_ai.input.messages": asked, "gen_ai.output.messages": said})
    client.post("/v1/logs", json=wrapped([event]))
    client.post("/v1/traces", json=traced(call(0)))
    assert [(turn["kind"], turn["preview"], turn["model"]) for turn in turns(client)] == [
        ("prompt", "find x", None),
        ("response", "{x: 1}", "m1"),
    ]


@pytest.mark.parametrize("lines", [(0, 1), (1, 0)])
def test_a_file_of_the_same(client: FlaskClient, app: Flask, lines: tuple[int, int]) -> None:
    """A record that stands twice is read once and named; the order of spans and logs is of no matter."""
    both = [traced(call(0), call(1)), wrapped([*FIRST, *SECOND, FIRST[0]])]
    body = "\n".join(json.dumps(both[line]) for line in lines)
    answer = client.post("/api/dumps?filename=otel.jsonl", data=body).json
    assert [raw for raw in raws(app) if raw] == ["be brief", "find x", "{\"q\": 'x'}", "found 3", '{"answer": 3,}']
    with app.app_context():
        assert "occurs twice" in json.dumps(db.session.get(Dump, answer["dump"]["id"]).problems)

"""Spans of running programs: the real exporter against a real server, and every answer that the protocol names."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from tests.dumps.formats.test_otlp import SPAN, TRACE, protobuf, span, trace
from tests.store.conftest import SERVER, postgres
from webapp.extensions import db
from webapp.store.models import Base, Dump, LiveSpan, Session, Turn

__all__ = ["postgres"]

START = 1_750_000_000_000_000_000
Send = Callable[..., Any]
on_both = pytest.mark.parametrize(
    "app", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)


def numbered(number: int, talk: str = "talk", **more: Any) -> dict[str, Any]:
    """A span whose answer is its number, begun that many seconds after the first."""
    said = {"gen_ai.completion.0.content": f'{{"n": {number}}}', "gen_ai.conversation.id": talk}
    return span(said, spanId=f"{number + 1:016x}", startTimeUnixNano=str(START + number * 10**9), **more)


def send_to(url: str, talk: str, *numbers: int) -> None:
    """Send such spans of a trace of their own to a server elsewhere."""
    own = talk.encode().hex().ljust(32, "0")
    body = trace(*(numbered(number, talk, traceId=own) for number in numbers)).encode()
    with urlopen(Request(f"{url}/v1/traces", body, {"Content-Type": "application/json"})) as answer:
        assert json.load(answer) == {}


@pytest.fixture
def app(request: pytest.FixtureRequest, make: Callable[..., Flask], monkeypatch: pytest.MonkeyPatch) -> Iterator[Flask]:
    """An app on SQLite; on PostgreSQL where a test says so, whose rows are gone afterwards."""
    monkeypatch.setattr("webapp.store.derive.SHARE", 0.0)
    if getattr(request, "param", "sqlite") == "sqlite":
        yield make()
        return
    app = make(database=f"{SERVER}/{request.getfixturevalue('postgres')}")
    yield app
    for thread in threading.enumerate():
        if thread.name == "findings of live sessions":
            thread.join(120)
    with app.app_context(), db.engine.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())
    with app.app_context():
        db.engine.dispose()


@pytest.fixture
def send(client: FlaskClient) -> Send:
    def send(*spans: dict[str, Any]) -> Any:
        return client.post("/v1/traces", data=trace(*spans), content_type="application/json")

    return send


@pytest.fixture
def stored(app: Flask) -> Iterator[Any]:
    with app.app_context():
        yield db.session


def shown(stored: Any, name: str = "talk") -> list[str]:
    session = stored.scalars(sa.select(Session).where(Session.external_id == name)).one()
    query = sa.select(Turn.raw).where(Turn.session_id == session.id, Turn.duplicate_of.is_(None))
    return list(stored.scalars(query.order_by(Turn.position)))


def test_entries_are_the_spans_that_came_and_our_own_dump_of_them_changes_nothing(
    send: Send, client: FlaskClient
) -> None:
    spans = [numbered(2), numbered(0), numbered(1)]
    for one in spans:
        send(one)
    dump = client.get("/api/session/talk/dump", buffered=True)
    assert [entry["span"] for entry in dump.json["entries"]] == spans
    assert client.post("/api/dumps?filename=talk.json", data=dump.data).status_code == 200
    assert client.get("/api/session/talk").json["session"]["revision"] == 1


@on_both
def test_late_spans_find_their_place_and_nothing_else_changes(send: Send, stored: Any) -> None:
    send(numbered(0), numbered(5))
    before = dict(stored.execute(sa.select(Turn.raw, Turn.id)).all())
    send(numbered(3), numbered(1), numbered(7))
    stored.expire_all()
    assert shown(stored) == [f'{{"n": {number}}}' for number in (0, 1, 3, 5, 7)]
    after = dict(stored.execute(sa.select(Turn.raw, Turn.id)).all())
    assert before.items() <= after.items()
    assert list(stored.scalars(sa.select(Turn.position).order_by(Turn.position))) == [0, 1, 2, 3, 4]


def test_any_clock_of_a_span(send: Send, client: FlaskClient) -> None:
    started = ["0", "-5", "9999999999999999999", "nan", 7226582400 * 10**9, 253402300800 * 10**9, None]
    odd = [numbered(number) | {"startTimeUnixNano": start} for number, start in enumerate(started)]
    assert send(*odd, numbered(len(odd))).json == {}
    assert client.get("/api/session/talk").json["session"]["responses"] == len(odd) + 1
    for path in ("/", "/sessions/talk", "/api/session/talk/dump", "/sessions/talk/turns/0"):
        assert client.get(path, buffered=True).status_code == 200, path


@on_both
def test_the_same_span_again_changes_nothing(send: Send, stored: Any) -> None:
    send(numbered(0))
    assert send(numbered(0), numbered(1), numbered(1)).json == {}
    assert shown(stored) == ['{"n": 0}', '{"n": 1}']
    line = stored.scalars(sa.select(Dump)).one()
    assert (line.problem_count, line.session_count, line.turn_count) == (2, 1, 2)
    assert "was sent again, unchanged" in line.problems[0]["reason"]


@on_both
def test_the_same_span_with_other_content_is_refused(send: Send, stored: Any) -> None:
    send(numbered(0))
    partial = send(numbered(0, name="other"), numbered(1)).json["partialSuccess"]
    assert partial["rejectedSpans"] == "1"
    assert partial["errorMessage"].startswith("resourceSpans[0].scopeSpans[0].spans[0]: the span 0000000000000001")
    assert shown(stored) == ['{"n": 0}', '{"n": 1}']


@pytest.mark.parametrize("bad", [{"spanId": ""}, {"traceId": "0" * 32}, {"spanId": "xyz"}, {"traceId": None}])
def test_a_span_without_ids_is_refused_and_the_others_are_taken(send: Send, stored: Any, bad: dict[str, Any]) -> None:
    answer = send({**numbered(0), **bad}, numbered(1))
    assert (answer.status_code, answer.json["partialSuccess"]["rejectedSpans"]) == (200, "1")
    assert shown(stored) == ['{"n": 1}']


def test_a_trace_that_is_named_later_takes_the_name(send: Send, client: FlaskClient) -> None:
    send(span({"gen_ai.completion.0.content": "1"}))
    key = client.get(f"/api/session/{TRACE}").json["session"]["key"]
    send(span({"session.id": "named"}, spanId="1" * 16, startTimeUnixNano=str(START)))
    assert client.get("/api/session/named").json["session"]["key"] == key


def test_outer_spans_come_last_and_stand_first(send: Send, stored: Any) -> None:
    """Vercel's outer span ends after the inner one, which said it all; it is the stored turn that stays."""
    said = {"ai.response.text": "A", "ai.prompt.messages": '[{"role": "user", "content": "Q"}]'}
    name = "ai.generateText.doGenerate"
    inner = span({"ai.operationId": name, "gen_ai.response.model": "gpt-1", **said}, name=name, spanId="1" * 16)
    outer = span({"ai.operationId": "ai.generateText", **said}, startTimeUnixNano=str(START))
    send(inner)
    send(outer)
    assert shown(stored, TRACE) == ["Q", "A"]


def test_a_result_that_comes_later_fails_its_call(send: Send, stored: Any) -> None:
    call = {"type": "tool_call", "id": "c", "name": "f", "arguments": "{broken"}
    send(span({"gen_ai.output.messages": [{"role": "assistant", "parts": [call]}]}))
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "c"}
    said = {"gen_ai.tool.call.result": "Error parsing arguments: invalid JSON"}
    send(span({**tool, **said}, spanId="2" * 16, startTimeUnixNano=str(START + 10**9)))
    session = stored.scalars(sa.select(Session)).one()
    assert session.failed_count == 1
    assert stored.scalars(sa.select(Turn.recorded_failure).where(Turn.kind == "tool_call")).one().startswith("Error")


def test_a_session_that_came_as_a_file_grows_by_its_spans(send: Send, client: FlaskClient, stored: Any) -> None:
    client.post("/api/dumps?filename=t.json", data=trace(numbered(0), numbered(4)))
    assert send(numbered(4), numbered(2)).json == {}
    assert shown(stored) == ['{"n": 0}', '{"n": 2}', '{"n": 4}']
    assert stored.scalars(sa.select(sa.func.count()).select_from(LiveSpan)).one() == 3


def test_protobuf_and_gzip(client: FlaskClient, stored: Any) -> None:
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service

    head = {"Content-Encoding": "gzip", "Content-Type": "application/x-protobuf"}
    answer = client.post("/v1/traces", data=gzip.compress(protobuf()), headers=head)
    assert (answer.status_code, answer.data, answer.mimetype) == (200, b"", "application/x-protobuf")
    assert shown(stored, "s1") == ["A"]
    other = protobuf().replace(b"chat", b"cha!")
    answer = client.post("/v1/traces", data=other, content_type="application/x-protobuf")
    partial = service.ExportTraceServiceResponse.FromString(answer.data).partial_success
    assert (partial.rejected_spans, SPAN in partial.error_message) == (1, True)


@pytest.mark.parametrize(
    ("body", "head", "status"),
    [
        (b"{", {"Content-Type": "application/json"}, 400),
        (b"[]", {"Content-Type": "application/json"}, 400),
        (b"\xff\xfe{", {"Content-Type": "application/json"}, 400),
        (b"[" * 100_000, {"Content-Type": "application/json"}, 400),
        (b'{"resourceSpans": 3}', {"Content-Type": "application/json"}, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {"Content-Type": "application/json", "Content-Encoding": "br"}, 415),
        (b"\x1f\x8bnothing", {"Content-Type": "application/json", "Content-Encoding": "gzip"}, 400),
        (70 * gzip.compress(b" " * 1_000_000), {"Content-Type": "application/json", "Content-Encoding": "gzip"}, 413),
    ],
)
def test_what_can_never_be_taken(client: FlaskClient, body: bytes, head: dict[str, str], status: int) -> None:
    answer = client.post("/v1/traces", data=body, headers=head)
    assert answer.status_code == status
    assert set(answer.json) == {"code", "message"}


def test_a_refusal_in_protobuf_is_a_status(client: FlaskClient) -> None:
    from google.rpc.status_pb2 import Status

    answer = client.post("/v1/traces", data=protobuf()[:-1], content_type="application/x-protobuf")
    assert (answer.status_code, Status.FromString(answer.data).code) == (400, 3)


LOGS = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "a"}}, {}]}, {}]}, {"scopeLogs": 3}]}
METRIC = {"name": "m", "sum": {"dataPoints": [{"asInt": "1"}, {"asInt": "2"}]}}
METRICS = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [METRIC, {"gauge": {"dataPoints": [{}]}}, 7]}]}]}


@pytest.mark.parametrize(
    ("signal", "body", "said"),
    [("logs", LOGS, ("rejectedLogRecords", "2")), ("metrics", METRICS, ("rejectedDataPoints", "3"))],
)
def test_logs_and_metrics_are_rejected_in_words(
    client: FlaskClient, caplog: pytest.LogCaptureFixture, signal: str, body: Any, said: tuple[str, str]
) -> None:
    for _ in range(2):
        answer = client.post(f"/v1/{signal}", json=body)
        partial = answer.json["partialSuccess"]
        assert (answer.status_code, partial[said[0]]) == (200, said[1])
        assert f"OTEL_{signal.upper()}_EXPORTER=none" in partial["errorMessage"]
    assert sum(f"OpenTelemetry {signal} come in" in line for line in caplog.messages) == 1


def test_logs_and_metrics_in_protobuf(client: FlaskClient) -> None:
    from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics

    records = logs.ExportLogsServiceRequest()
    records.resource_logs.add().scope_logs.add().log_records.add().body.string_value = "a"
    points = metrics.ExportMetricsServiceRequest()
    listed = points.resource_metrics.add().scope_metrics.add().metrics
    for kind in ("gauge", "sum", "histogram", "exponential_histogram", "summary"):
        getattr(listed.add(name=kind), kind).data_points.add()
    head = {"Content-Type": "application/x-protobuf"}
    answer = client.post("/v1/logs", data=records.SerializeToString(), headers=head)
    assert logs.ExportLogsServiceResponse.FromString(answer.data).partial_success.rejected_log_records == 1
    answer = client.post("/v1/metrics", data=points.SerializeToString(), headers=head)
    assert metrics.ExportMetricsServiceResponse.FromString(answer.data).partial_success.rejected_data_points == 5


@pytest.mark.parametrize("signal", ["logs", "metrics"])
def test_empty_and_broken_logs_and_metrics(client: FlaskClient, signal: str) -> None:
    assert client.post(f"/v1/{signal}", json={}).json == {}
    assert client.post(f"/v1/{signal}", json=[]).status_code == 400
    broken = client.post(f"/v1/{signal}", data=b"\x0a\xff", content_type="application/x-protobuf")
    assert broken.status_code == 400
    assert client.post(f"/v1/{signal}", data=b"").status_code == 415


def test_the_token_is_asked_for(make: Callable[..., Flask]) -> None:
    client = make(token="secret").test_client()
    head = {"Content-Type": "application/json"}
    assert client.post("/v1/traces", data="{}", headers=head).json["code"] == 16
    head["Authorization"] = "Bearer secret"
    assert client.post("/v1/traces", data="{}", headers=head).status_code == 200


def test_a_busy_database_is_said_and_nothing_is_stored(app: Flask, client: FlaskClient, send: Send) -> None:
    with app.app_context():
        db.engine.dispose()
        sa.event.listen(db.engine, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout=100"))
        with db.engine.connect() as other:
            other.exec_driver_sql("BEGIN IMMEDIATE")
            answer = send(numbered(0))
            other.rollback()
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert send(numbered(0)).status_code == 200

"""OTLP over HTTP: spans of running programs, and logs of their messages, answered as the protocol says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, BinaryIO, TypeVar, cast

from flask import Blueprint, Response, abort, current_app, request

from webapp.dumps import otlp_protobuf
from webapp.dumps.budget import STRICT_VALUES, Allowance, BadDump, TooLarge
from webapp.dumps.records import Problem
from webapp.dumps.spool import in_memory
from webapp.extensions import db
from webapp.store.live.growth import take
from webapp.store.live.logs import ArrivedLog, OtherLog, arrived_logs
from webapp.store.live.lookup import Arrived
from webapp.store.live.reading import arrived
from webapp.web.answers import JSON, PROTOBUF, otlp_answer
from webapp.web.api import operation
from webapp.web.guards import SPANS_LIMIT

blueprint = Blueprint("traces", __name__)

MOST_SPANS = 10_000
"""of one request; exporters send a few hundred at a time"""
MOST_MARKS = 4_000_000
"""of one in JSON, its commas, and four for each bracket: see `check_json`"""
MOST_WORDS = 5
"""Reasons that an answer names; the dumps page has more."""
NOT_KEPT = {
    "logs": "Fencepost keeps the log records of GenAI instrumentations (gen_ai.…) only, no other logs;"
    " OTEL_LOGS_EXPORTER=none stops all of them, and with them messages that come as logs.",
    "metrics": "Fencepost keeps traces, and logs of messages, only; OTEL_METRICS_EXPORTER=none stops this.",
}
_SNAKE = {"resourceSpans": "resource_spans", "resourceLogs": "resource_logs", "resourceMetrics": "resource_metrics"}
T = TypeVar("T")
R = TypeVar("R", Arrived | Problem, ArrivedLog | OtherLog | Problem)
_Groups = Iterator[tuple[str, dict[str, Any] | Problem]]


@blueprint.post("/v1/traces")
def export() -> Response:
    """Spans that are stored when the answer comes. A request is taken whole, but for spans that name no ids."""
    sent, size = _read(lambda body: (_at_most(arrived(_groups(body, "resourceSpans")), "spans"), len(body)))
    spans = [span for span in sent if isinstance(span, Arrived)]
    _store(spans, size, [])
    refused = [problem for problem in sent if isinstance(problem, Problem)]
    refused += [Problem(span.at, span.refused) for span in spans if span.refused]
    return answer(len(refused), "rejectedSpans", _reasons(refused))


@blueprint.post("/v1/logs")
def logs() -> Response:
    """Log records that say what a span asked and answered are kept for it; others are refused in words."""
    records, size = _read(
        lambda body: (_at_most(arrived_logs(_groups(body, "resourceLogs")), "log records"), len(body))
    )
    _store([], size, [record for record in records if isinstance(record, ArrivedLog)])
    other_count = sum(isinstance(record, OtherLog) for record in records)
    _warn("logs", other_count)
    problems = [record for record in records if isinstance(record, Problem)]
    words = [_reasons(problems), NOT_KEPT["logs"] if other_count else ""]
    return answer(len(problems) + other_count, "rejectedLogRecords", "; ".join(filter(None, words)))


@blueprint.post("/v1/metrics")
def metrics() -> Response:
    """Metrics are refused in words as a success, which keeps the exporter calm."""
    count = _read(lambda body: sum(otlp_protobuf.data_points(group) for _, group in _groups(body, "resourceMetrics")))
    _warn("metrics", count)
    return answer(count, "rejectedDataPoints", NOT_KEPT["metrics"] if count else "")


def _warn(signal: str, count: int) -> None:
    """Say once in the server's log that a signal comes that is not kept."""
    warned: set[str] = current_app.extensions.setdefault("fencepost_not_kept", set())
    if count and signal not in warned:
        warned.add(signal)
        current_app.logger.warning("OpenTelemetry %s come in and are not kept: %s", signal, NOT_KEPT[signal])


def _read(reader: Callable[[bytes], T]) -> T:
    """What `reader` makes of the request's body; 400, 413 or 415 where it is wrong."""
    if request.mimetype not in (PROTOBUF, JSON):
        abort(415, f"Send {PROTOBUF} or {JSON}, not {request.mimetype[:100] or 'a body without a type'}.")
    if (request.content_encoding or "identity").lower() not in ("identity", "gzip", "zstd"):
        abort(415, "A body may be compressed with gzip or zstd, nothing else.")
    try:
        return reader(in_memory(cast(BinaryIO, request.stream), max_bytes=SPANS_LIMIT))
    except TooLarge as large:
        abort(413, f"{large.reason}. Let the exporter send fewer at a time.")
    except BadDump as bad:
        abort(400, f"{bad.reason} ({bad.at})")
    except (ValueError, RecursionError) as error:
        abort(400, f"not an OTLP export request: {error}")


def _store(spans: list[Arrived], size: int, logged: list[ArrivedLog]) -> None:
    if spans or logged:
        take(db.engine, current_app.config["SETTINGS"], spans, size, logged)


def _at_most(records: Iterator[R], called: str) -> list[R]:
    listed = list(islice(records, MOST_SPANS + 1))
    if len(listed) > MOST_SPANS:
        raise TooLarge(f"it holds more than {MOST_SPANS:,} {called}, the maximum per request", listed[-1].at)
    return listed


def _groups(body: bytes, name: str) -> _Groups:
    """The request's ResourceSpans, or ResourceLogs, one after the other."""
    if request.mimetype == PROTOBUF:
        yield from otlp_protobuf.request_of(body, Allowance(STRICT_VALUES), name)
        return
    value = operation.object_of(body, MOST_MARKS)
    listed = value.get(name, value.get(_SNAKE[name], []))
    if not isinstance(listed, list):
        raise ValueError(f"{name} is not a list")
    for index, group in enumerate(listed):
        at = f"{name}[{index}]"
        yield at, group if isinstance(group, dict) else Problem(at, "expected an object")


def _reasons(refused: list[Problem]) -> str:
    reasons = "; ".join(f"{problem.at}: {problem.reason}" for problem in refused[:MOST_WORDS])
    return reasons + (f"; and {len(refused) - MOST_WORDS} more" if len(refused) > MOST_WORDS else "")


def answer(rejected: int, name: str, message: str) -> Response:
    """An Export…ServiceResponse, in the request's encoding; `name` is what its JSON calls the count of the rejected."""
    if not rejected:
        return otlp_answer(200, {}, b"")
    packed = otlp_protobuf.part(1, otlp_protobuf.answer(rejected, message))
    return otlp_answer(200, {"partialSuccess": {name: str(rejected), "errorMessage": message}}, packed)

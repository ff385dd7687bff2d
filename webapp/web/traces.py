"""OTLP over HTTP: the spans of running programs come in here, answered as the protocol says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO, TypeVar, cast

from flask import Blueprint, Response, current_app, request
from sqlalchemy.exc import OperationalError

from webapp.dumps import otlp_counts, otlp_wire
from webapp.dumps.otlp_counts import Signal
from webapp.dumps.records import BadDump, Problem, TooLarge
from webapp.dumps.spool import in_memory
from webapp.extensions import db
from webapp.store.live import Arrived, Busy, Gate, arrived

blueprint = Blueprint("traces", __name__)

MOST_BYTES = 64 * 1024 * 1024
"""of one request, once decompressed; exporters send a few hundred spans at a time"""
MOST_WORDS = 5
"""Reasons that an answer names; the dumps page has more."""
RETRY_AFTER = 5
"""seconds"""
PROTOBUF, JSON = "application/x-protobuf", "application/json"
NOT_KEPT = {
    "logs": "Fencepost keeps traces only; OTEL_LOGS_EXPORTER=none stops this. Where instrumentations put prompts and"
    " answers into log events, OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and"
    " OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY put them into spans.",
    "metrics": "Fencepost keeps traces only; OTEL_METRICS_EXPORTER=none stops this.",
}
_REJECTED = {"logs": "rejectedLogRecords", "metrics": "rejectedDataPoints"}
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 413: 8, 415: 3, 503: 14}
"""HTTP status to google.rpc.Code."""
T = TypeVar("T")
_Groups = list[tuple[str, dict[str, Any] | Problem]]


@blueprint.post("/v1/traces")
def export() -> Response:
    """Spans that are stored when the answer comes. A request is taken whole, but for spans that name no ids."""
    found = _read(lambda body: (list(arrived(_groups(body))), len(body)))
    return found if isinstance(found, Response) else _taken(*found)


@blueprint.post("/v1/<any(logs, metrics):signal>")
def other(signal: Signal) -> Response:
    """What an exporter sends beside traces is refused in words as a success, which keeps the exporter calm."""
    count = _read(lambda body: _count(signal, body))
    if isinstance(count, Response):
        return count
    said: set[str] = current_app.extensions.setdefault("fencepost_not_kept", set())
    if count and signal not in said:
        said.add(signal)
        current_app.logger.warning("OpenTelemetry %s come in and are not kept: %s", signal, NOT_KEPT[signal])
    return answer(count, _REJECTED[signal], NOT_KEPT[signal] if count else "")


def _read(read: Callable[[bytes], T]) -> T | Response:
    """What `read` makes of the request's body, or what is wrong with it."""
    if request.mimetype not in (PROTOBUF, JSON):
        return refusal(415, f"Send {PROTOBUF} or {JSON}, not {request.mimetype[:100] or 'a body without a type'}.")
    if (request.content_encoding or "identity").lower() not in ("identity", "gzip", "zstd"):
        return refusal(415, "A body may be compressed with gzip or zstd, nothing else.")
    try:
        return read(in_memory(cast(BinaryIO, request.stream), max_bytes=MOST_BYTES))
    except TooLarge as large:
        return refusal(413, f"{large.reason}. Let the exporter send fewer at a time.")
    except BadDump as bad:
        return refusal(400, f"{bad.reason} ({bad.at})")
    except (ValueError, RecursionError) as error:
        return refusal(400, f"not an OTLP export request: {error}")


def _taken(found: list[Arrived | Problem], size: int) -> Response:
    spans = [one for one in found if isinstance(one, Arrived)]
    try:
        if spans:
            gate().take(spans, size)
    except Busy as busy:
        return refusal(503, str(busy))
    except OperationalError as error:
        current_app.logger.warning("database: %s", error.orig)
        return refusal(503, "The database is busy. Nothing of the request was stored.")
    refused = [one for one in found if isinstance(one, Problem)]
    refused += [Problem(span.at, span.refused) for span in spans if span.refused]
    return success(refused)


def gate() -> Gate:
    """The process's only one."""
    gates = current_app.extensions.setdefault("fencepost_live", {})
    if (found := gates.get("gate")) is None:
        found = gates.setdefault("gate", Gate(db.engine, current_app.config["SETTINGS"]))
    return cast(Gate, found)


def _groups(body: bytes) -> _Groups:
    """The request's ResourceSpans. Raises `ValueError`, `Malformed` among them, and `RecursionError`."""
    if request.mimetype == PROTOBUF:
        return list(otlp_wire.request_of(body))
    value = _object(body)
    listed = value.get("resourceSpans", value.get("resource_spans", []))
    if not isinstance(listed, list):
        raise ValueError("resourceSpans is not a list")
    places = [(f"resourceSpans[{index}]", group) for index, group in enumerate(listed)]
    return [(at, group if isinstance(group, dict) else Problem(at, "expected an object")) for at, group in places]


def _count(signal: Signal, body: bytes) -> int:
    if request.mimetype == PROTOBUF:
        return otlp_counts.of_protobuf(signal, body)
    return otlp_counts.of_json(signal, _object(body))


def _object(body: bytes) -> dict[str, Any]:
    value = json.loads(body)
    if not isinstance(value, dict):
        raise ValueError("expected a JSON object")
    return value


def success(refused: Iterable[Problem]) -> Response:
    """An ExportTraceServiceResponse, with what was not taken and why, in the request's encoding."""
    refused = list(refused)
    said = "; ".join(f"{problem.at}: {problem.reason}" for problem in refused[:MOST_WORDS])
    more = f"; and {len(refused) - MOST_WORDS} more" if len(refused) > MOST_WORDS else ""
    return answer(len(refused), "rejectedSpans", said + more)


def answer(rejected: int, name: str, said: str) -> Response:
    """An Export…ServiceResponse, in the request's encoding; `name` is what its JSON calls the count of the rejected."""
    if not rejected:
        return _answer(200, {}, b"")
    inner = otlp_wire.whole(1, rejected) + otlp_wire.text(2, said)
    return _answer(200, {"partialSuccess": {name: str(rejected), "errorMessage": said}}, otlp_wire.part(1, inner))


def refusal(status: int, message: str) -> Response:
    """A `Status` in the request's encoding; with `Retry-After` where the same may be taken later."""
    code = _CODES.get(status, 2)
    response = _answer(
        status, {"code": code, "message": message}, otlp_wire.whole(1, code) + otlp_wire.text(2, message)
    )
    if status in (429, 503):
        response.headers["Retry-After"] = str(RETRY_AFTER)
    return response


def _answer(status: int, value: dict[str, Any], packed: bytes) -> Response:
    if request.mimetype == PROTOBUF:
        return Response(packed, status, mimetype=PROTOBUF)
    return Response(json.dumps(value), status, mimetype=JSON)

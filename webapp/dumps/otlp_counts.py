"""Counts what a request of OTLP logs or metrics holds, in protobuf or JSON: nothing else is asked of them here."""

from __future__ import annotations

from typing import Any, Literal

from webapp.dumps import otlp_wire

Signal = Literal["logs", "metrics"]

_POINTS: dict[int, otlp_wire.Field] = {1: ("dataPoints", {}, True)}
_METRIC: dict[int, otlp_wire.Field] = {
    5: ("gauge", _POINTS, False),
    7: ("sum", _POINTS, False),
    9: ("histogram", _POINTS, False),
    10: ("exponentialHistogram", _POINTS, False),
    11: ("summary", _POINTS, False),
}
_LOGS: dict[int, otlp_wire.Field] = {1: ("resourceLogs", {2: ("scopeLogs", {2: ("logRecords", {}, True)}, True)}, True)}
_METRICS: dict[int, otlp_wire.Field] = {
    1: ("resourceMetrics", {2: ("scopeMetrics", {2: ("metrics", _METRIC, True)}, True)}, True)
}


def of_protobuf(signal: Signal, data: bytes) -> int:
    """Log records or data points of an Export…ServiceRequest (opentelemetry-proto 1.x). Raises `Malformed`."""
    return of_json(signal, otlp_wire.message(data, _LOGS if signal == "logs" else _METRICS))


def of_json(signal: Signal, value: dict[str, Any]) -> int:
    """Log records or data points of the same as JSON; what has another shape counts as nothing."""
    if signal == "logs":
        return len(_listed([value], "resourceLogs", "scopeLogs", "logRecords"))
    metrics = _listed([value], "resourceMetrics", "scopeMetrics", "metrics")
    kinds = [metric.get(name) for metric in metrics for name, _, _ in _METRIC.values() if isinstance(metric, dict)]
    return len(_listed(kinds, "dataPoints"))


def _listed(holders: list[Any], *names: str) -> list[Any]:
    """What stands in the lists `names`, one within the other."""
    for name in names:
        lists = [holder.get(name) for holder in holders if isinstance(holder, dict)]
        holders = [item for found in lists if isinstance(found, list) for item in found]
    return holders

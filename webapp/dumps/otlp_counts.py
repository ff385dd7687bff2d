"""Counts what a request of OTLP metrics holds, in protobuf or JSON: nothing else is asked of them here."""

from __future__ import annotations

from typing import Any

from webapp.dumps import protobuf
from webapp.dumps.budget import Allowance

_KINDS = {5: "gauge", 7: "sum", 9: "histogram", 10: "exponentialHistogram", 11: "summary"}
_DATA_POINTS = ({1}, {2}, {2}, set(_KINDS), {1})
"""Fields one within the other: resourceMetrics, scopeMetrics, metrics, a metric's kind, dataPoints (proto 1.x)."""


def of_protobuf(data: bytes, allowance: Allowance, path: tuple[set[int], ...] = _DATA_POINTS) -> int:
    """Data points of an ExportMetricsServiceRequest, at the end of `path`; none is built.

    Raises `Malformed` and `TooLarge`.
    """
    count = 0
    for number, value in protobuf.fields(data):
        allowance.take(1, "a message of the request")
        if number in path[0] and isinstance(value, bytes):
            count += of_protobuf(value, allowance, path[1:]) if len(path) > 1 else 1
    return count


def of_json(value: dict[str, Any]) -> int:
    """Data points of the same as JSON; what has another shape counts as nothing."""
    metrics = _listed([value], "resourceMetrics", "scopeMetrics", "metrics")
    kinds = [metric.get(name) for metric in metrics for name in _KINDS.values() if isinstance(metric, dict)]
    return len(_listed(kinds, "dataPoints"))


def _listed(holders: list[Any], *names: str) -> list[Any]:
    """What stands in the lists `names`, one within the other."""
    for name in names:
        lists = [holder.get(name) for holder in holders if isinstance(holder, dict)]
        holders = [item for listed in lists if isinstance(listed, list) for item in listed]
    return holders

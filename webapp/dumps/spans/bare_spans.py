"""Tells spans that say nothing: a megabyte may hold 70,000 of them, and each would take as long as one that does."""

from __future__ import annotations

from typing import Any

from webapp.dumps.spans.attributes import plain
from webapp.dumps.values import as_list, as_object

_IDS = ("spanId", "span_id")
_TIMES = ("startTimeUnixNano", "start_time_unix_nano")


def is_bare(span: dict[str, Any]) -> bool:
    """Whether a span has neither id and time, by which others know it, nor a value, an event or a status of its own."""
    if any(span.get(key) for key in _IDS) and any(span.get(key) for key in _TIMES):
        return False
    return not (_has_values(span.get("attributes")) or _has_events(span) or as_object(span.get("status")))


def _has_events(span: dict[str, Any]) -> bool:
    events = (event for event in as_list(span.get("events")) if isinstance(event, dict))
    return any(event.get("name") or _has_values(event.get("attributes")) for event in events)


def _has_values(attributes: Any) -> bool:
    if isinstance(attributes, dict):
        return bool(attributes)
    pairs = (pair for pair in as_list(attributes) if isinstance(pair, dict))
    return any(pair.get("key") and plain(pair.get("value")) is not None for pair in pairs)

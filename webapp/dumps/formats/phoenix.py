"""Phoenix's spans as a table: rows with columns like `attributes.llm.output_messages`, JSONL or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import DumpHead, PlacedTurn, Sessions, Source
from webapp.dumps.documents import RepeatedIds
from webapp.dumps.formats.otlp import Otlp, Trace
from webapp.dumps.messages.printed import from_repr
from webapp.dumps.messages.turns import unplaced
from webapp.dumps.records import Problem
from webapp.dumps.sessions import by_time, page_entries
from webapp.dumps.values import first_id, text

_LONGEST_REPR = 16 * 1024 * 1024
_ATTRIBUTES = "attributes."
_COLUMNS = frozenset(
    ("name", "span_kind", "parent_id", "start_time", "end_time", "status_code", "status_message", "events")
)
_CONTEXT = "context."
_SESSIONS = ("attributes.session.id", "context.trace_id", "trace_id")


class Phoenix(Otlp):
    checks_texts = False
    shapes = 'Phoenix\'s spans {"span_kind", "context.trace_id", "attributes.…"} one a line, or as Parquet'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object" and _is_row(head.first_of("data")):
            return 93
        return 93 if head.objects and all(map(_is_row, head.objects)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        rows = page_entries(source, head, "data")
        yield from by_time(rows, lambda row: _session(row) or source.stem, lambda row: row.get("start_time"))

    def repeated_ids(self, at: str, entry: dict[str, Any], ids: RepeatedIds) -> Iterator[Problem]:
        yield from ids.again(at, "span id", _flat(entry).get("context.span_id"))

    def read_entry(self, entry: dict[str, Any], conversation: Trace) -> list[PlacedTurn]:
        return unplaced(super().read_entry({"span": _span(_flat(entry))}, conversation))


plugin = Phoenix()


def _is_row(value: dict[str, Any]) -> bool:
    flat = value if "context" not in value else _flat(value)
    has_ids = "context.span_id" in flat or "context.trace_id" in flat
    return has_ids and ("span_kind" in flat or any(key.startswith(_ATTRIBUTES) for key in flat))


def _session(row: dict[str, Any]) -> str | None:
    return first_id(_flat(row), *_SESSIONS)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """The row with nested objects as dotted names, whatever was nested, and Python's reprs read."""
    flat: dict[str, Any] = {}
    waiting: list[tuple[str, Any]] = list(row.items())
    while waiting:
        name, value = waiting.pop(0)
        if isinstance(value, str) and value[:1] in ("[", "{") and name.startswith(_ATTRIBUTES):
            parsed = from_repr(value, _LONGEST_REPR)
            value = value if parsed is None or not name.endswith("_messages") else parsed
        if isinstance(value, dict):
            waiting.extend((f"{name}.{key}", inner) for key, inner in value.items())
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            waiting.extend((f"{name}.{index}", item) for index, item in enumerate(value))
        elif value is not None and value != "None":
            flat[name] = value
    return flat


def _is_attribute(key: str) -> bool:
    """Whether a column is an attribute: others that Phoenix does not have may hold an answer, too."""
    if key.startswith(_ATTRIBUTES):
        return True
    return not key.startswith((_CONTEXT, "events.")) and key not in _COLUMNS


def _span(flat: dict[str, Any]) -> dict[str, Any]:
    """The row as a span of OTLP."""
    attributes = {key.removeprefix(_ATTRIBUTES): value for key, value in flat.items() if _is_attribute(key)}
    if "openinference.span.kind" not in attributes and "span_kind" in flat:
        attributes["openinference.span.kind"] = flat["span_kind"]
    return {
        "traceId": flat.get("context.trace_id"),
        "spanId": flat.get("context.span_id"),
        "parentSpanId": flat.get("parent_id"),
        "name": text(flat.get("name")),
        "startTimeUnixNano": flat.get("start_time"),
        "status": {"code": 2 if flat.get("status_code") == "ERROR" else 0, "message": flat.get("status_message")},
        "attributes": attributes,
    }

"""Spans in other shapes than OTLP's: Phoenix's tables with columns like `attributes.llm…`, Jaeger's exports."""

from __future__ import annotations

from collections import deque
from typing import Any

from webapp.dumps.base import DumpHead, Entries, Sessions, Source
from webapp.dumps.decoding import opened
from webapp.dumps.documents import entries_of, nested, page_entries
from webapp.dumps.formats.otlp import Otlp
from webapp.dumps.messages.printed import from_repr
from webapp.dumps.records import Problem
from webapp.dumps.sessions import by_time
from webapp.dumps.values import as_list, as_object, first_id, first_text, id_text, text

_ATTRIBUTES = "attributes."
_COLUMNS = frozenset(
    ("name", "span_kind", "parent_id", "start_time", "end_time", "status_code", "status_message", "events")
)
_CONTEXT = "context."
_LISTS = ("data", "spans")
_SESSIONS = ("attributes.session.id", "context.trace_id", "trace_id")


class Phoenix(Otlp):
    shapes = 'Phoenix\'s spans {"span_kind", "context.trace_id", "attributes.…"} one a line, or as Parquet'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object" and any(_is_row(head.first_of(key)) for key in _LISTS):
            return 93
        return 93 if head.objects and all(map(_is_row, head.objects)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        rows = page_entries(source, head, *_LISTS)
        yield from by_time(
            rows, lambda row: first_id(_flat(row), *_SESSIONS) or source.stem, lambda row: row.get("start_time")
        )

    def as_otlp(self, entry: dict[str, Any]) -> dict[str, Any]:
        return {"span": _span(_flat(entry))}


def _is_row(value: dict[str, Any]) -> bool:
    flat = value if "context" not in value else _flat(value)
    has_ids = "context.span_id" in flat or "context.trace_id" in flat
    return has_ids and (
        bool(value.keys() & {"span_kind", "attributes"}) or any(key.startswith(_ATTRIBUTES) for key in flat)
    )


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """The row with nested objects as dotted names, whatever was nested, and Python's reprs read."""
    flat: dict[str, Any] = {}
    waiting = deque[tuple[str, Any]](row.items())
    while waiting:
        name, value = waiting.popleft()
        if isinstance(value, str) and value[:1] in ("[", "{") and name.startswith(_ATTRIBUTES):
            parsed = from_repr(value)
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
    code = flat.get("status_code", flat.get("status.status_code"))
    said = flat.get("status_message", flat.get("status.description"))  # Phoenix' own, and OpenTelemetry's on a console
    return {
        "traceId": flat.get("context.trace_id"),
        "spanId": flat.get("context.span_id"),
        "parentSpanId": flat.get("parent_id"),
        "name": text(flat.get("name")),
        "startTimeUnixNano": flat.get("start_time"),
        "status": {"code": 2 if code == "ERROR" else 0, "message": said},
        "attributes": attributes,
    }


_SESSION_TAGS = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
)
_SPAN = {"operationName", "spanID"}


class Jaeger(Otlp):
    called = "jaeger"
    shapes = 'Jaeger\'s traces {"data": [{"traceID", "spans": […]}]}, such a trace, or spans one a line'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object" and _is_trace(head.first_of("data")):
            return 94
        return 94 if head.objects and all(_is_trace(value) or value.keys() >= _SPAN for value in head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        sessions = _named(page_entries(source, head, "data"), source.stem)
        yield from by_time(sessions, lambda entry: str(entry["session"]), lambda entry: entry["span"].get("startTime"))

    def as_otlp(self, entry: dict[str, Any]) -> dict[str, Any]:
        return {"span": _as_otlp(as_object(entry.get("span")))}


def _is_trace(value: dict[str, Any]) -> bool:
    first = next((span for span in as_list(value.get("spans")) if isinstance(span, dict)), {})
    return "traceID" in value and first.keys() >= _SPAN


def _named(traces: Entries, stem: str) -> Entries:
    """Each span with its session and its process: the session that a span of the trace names, else the trace."""
    for trace in traces:
        spans, processes = [trace], {}
        if not isinstance(trace, Problem) and "spans" in trace[1]:
            at, value = trace
            is_listed, processes = isinstance(value["spans"], list), as_object(value.get("processes"))
            listed = nested(at, "spans", as_list(value["spans"]))
            spans = list(listed) if is_listed else [Problem(at, "no list of spans; skipped")]
        values = [entry[1] for entry in spans if not isinstance(entry, Problem)]
        names = (first_id(_tags(span.get("tags")), *_SESSION_TAGS) or None for span in values)
        ids = (id_text(span.get("traceID")) for span in values)
        session = next((name for name in (*names, *ids) if name), stem)
        for entry in spans:
            if isinstance(entry, Problem):
                yield entry
                continue
            process = as_object(processes.get(str(entry[1].get("processID"))))
            yield entry[0], {"session": session, "span": entry[1], **({"process": process} if process else {})}


def _tags(listed: Any) -> dict[str, Any]:
    """Tags by their keys; some stores keep them as an object."""
    if isinstance(listed, dict):
        return listed
    pairs = [tag for tag in as_list(listed) if isinstance(tag, dict)]
    return {str(tag["key"]): tag.get("value") for tag in pairs if "key" in tag}


def _as_otlp(span: dict[str, Any]) -> dict[str, Any]:
    tags = {**_tags(span.get("tag")), **_tags(span.get("tags"))}
    parents = (as_object(reference).get("spanID") for reference in as_list(span.get("references")))
    failed = tags.get("error") in (True, "true") or tags.get("otel.status_code") == "ERROR"
    start = span.get("startTime")
    logs = [_tags(as_object(log).get("fields")) for log in as_list(span.get("logs"))]
    return {
        "traceId": span.get("traceID"),
        "spanId": span.get("spanID"),
        "parentSpanId": next(parents, span.get("parentSpanID")) or None,
        "name": text(span.get("operationName")),
        "startTimeUnixNano": start * 1000 if isinstance(start, int) else start,
        "status": {"code": 2 if failed else 0, "message": text(tags.get("otel.status_description"))},
        "attributes": tags,
        "events": [{"name": first_text(log, "event", "name"), "attributes": log} for log in logs],
    }


_HOLDERS = (
    "attributes",
    "tags",
    "customDimensions",
    "Properties",
    "SpanAttributes",
    "span_attributes",
    "attributes_string",
)
"""where stores of spans have their attributes: Logfire, Zipkin, Application Insights, ClickHouse, SigNoz"""
_OF_MODELS = ("gen_ai.", "llm.", "ai.prompt", "ai.response", "traceloop.", "output.value")
_TRACES = ("traceId", "trace_id", "TraceId", "trace.trace_id", "operation_Id", "OperationId", "traceID")
_TIMES = ("startTimeUnixNano", "start_timestamp", "start_time", "timestamp", "Timestamp", "TimeGenerated", "time")


class SpanRows(Otlp):
    called = "span_rows"
    shapes = (
        'spans of a store, one a line or a list, {"tags" or "customDimensions" or "SpanAttributes": {"gen_ai.…": …}}'
    )

    def sniff(self, head: DumpHead) -> int:
        rows = [_attributes(value) for value in head.objects if first_id(value, *_TRACES)]
        return 91 if len(rows) == len(head.objects) and any(map(_is_of_model, rows)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        def session(row: dict[str, Any]) -> str:
            return first_id(_attributes(row), *_SESSION_TAGS) or first_id(row, *_TRACES) or source.stem

        yield from by_time(entries_of(source, head), session, _when)

    def as_otlp(self, entry: dict[str, Any]) -> dict[str, Any]:
        span = {
            "traceId": first_id(entry, *_TRACES),
            "spanId": first_id(entry, "spanId", "span_id", "SpanId", "id"),
            "parentSpanId": first_id(
                entry, "parentId", "parent_id", "parent_span_id", "ParentSpanId", "operation_ParentId"
            ),
            "name": first_text(entry, "name", "span_name", "SpanName"),
            "startTimeUnixNano": _when(entry),
            "attributes": _attributes(entry),
        }
        return {"span": span}


def _when(row: dict[str, Any]) -> Any:
    return next((row[key] for key in _TIMES if row.get(key) is not None), None)


def _attributes(row: dict[str, Any]) -> dict[str, Any]:
    """A span's attributes, in an object of theirs, which may be a text, or beside its other fields."""
    held = (as_object(opened(row.get(key))) for key in _HOLDERS)
    return next(filter(_is_of_model, held), row)


def _is_of_model(attributes: dict[str, Any]) -> bool:
    return any(key.startswith(_OF_MODELS) for key in attributes)


plugins = (Phoenix(), Jaeger(), SpanRows())

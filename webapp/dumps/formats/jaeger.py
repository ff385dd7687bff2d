"""Jaeger's exports: {"data": [{"traceID", "spans", "processes"}]}, or such a trace, or its spans one a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import DumpHead, Entries, Entry, PlacedTurn, Sessions, Source
from webapp.dumps.documents import RepeatedIds, nested
from webapp.dumps.formats.otlp import Otlp, Trace
from webapp.dumps.messages.turns import unplaced
from webapp.dumps.records import Problem
from webapp.dumps.sessions import by_time, page_entries
from webapp.dumps.values import as_list, as_object, first_id, id_text, text

_SESSIONS = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
)
_SPAN = {"operationName", "spanID"}


class Jaeger(Otlp):
    checks_texts = False
    shapes = 'Jaeger\'s traces {"data": [{"traceID", "spans": […]}]}, such a trace, or spans one a line'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object" and _is_trace(head.first_of("data")):
            return 94
        return 94 if head.objects and all(_is_trace(value) or value.keys() >= _SPAN for value in head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        named = _named(page_entries(source, head, "data"), source.stem)
        yield from by_time(named, lambda entry: str(entry["session"]), lambda entry: entry["span"].get("startTime"))

    def repeated_ids(self, at: str, entry: dict[str, Any], ids: RepeatedIds) -> Iterator[Problem]:
        yield from ids.again(at, "span id", as_object(entry.get("span")).get("spanID"))

    def read_entry(self, entry: dict[str, Any], conversation: Trace) -> list[PlacedTurn]:
        return unplaced(super().read_entry({"span": _as_otlp(as_object(entry.get("span")))}, conversation))


plugin = Jaeger()


def _is_trace(value: dict[str, Any]) -> bool:
    first = next((span for span in as_list(value.get("spans")) if isinstance(span, dict)), {})
    return "traceID" in value and first.keys() >= _SPAN


def _named(traces: Entries, stem: str) -> Entries:
    """Each span with its session and its process: the session that a span of the trace names, else the trace."""
    for trace in traces:
        spans, processes = [trace], {}
        if not isinstance(trace, Problem) and "spans" in trace[1]:
            spans, processes = _spans(*trace), as_object(trace[1].get("processes"))
        values = [entry[1] for entry in spans if not isinstance(entry, Problem)]
        names = (first_id(_tags(span.get("tags")), *_SESSIONS) or None for span in values)
        ids = (id_text(span.get("traceID")) for span in values)
        session = next((name for name in (*names, *ids) if name), stem)
        for entry in spans:
            if isinstance(entry, Problem):
                yield entry
                continue
            process = as_object(processes.get(str(entry[1].get("processID"))))
            yield entry[0], {"session": session, "span": entry[1], **({"process": process} if process else {})}


def _spans(at: str, trace: dict[str, Any]) -> list[Entry | Problem]:
    if isinstance(trace["spans"], list):
        return list(nested(at, "spans", trace["spans"]))
    return [Problem(at, "no list of spans; skipped")]


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
    return {
        "traceId": span.get("traceID"),
        "spanId": span.get("spanID"),
        "parentSpanId": next(parents, span.get("parentSpanID")) or None,
        "name": text(span.get("operationName")),
        "startTimeUnixNano": start * 1000 if isinstance(start, int) else start,
        "status": {"code": 2 if failed else 0, "message": text(tags.get("otel.status_description"))},
        "attributes": tags,
        "events": [_event(as_object(log)) for log in as_list(span.get("logs"))],
    }


def _event(log: dict[str, Any]) -> dict[str, Any]:
    fields = _tags(log.get("fields"))
    return {"name": text(fields.get("event")) or text(fields.get("name")), "attributes": fields}

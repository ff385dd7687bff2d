"""OpenTelemetry traces (OTLP), JSON or protobuf: spans by start time, a session for each conversation or trace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from webapp.dumps import otlp_protobuf
from webapp.dumps.base import Conversation, DumpHead, Format, SessionEntries, Sessions, Source
from webapp.dumps.documents import entries_of, inner_list, objects
from webapp.dumps.linked_turns import Side
from webapp.dumps.records import Entries, Entry, Problem, Turn, numbered
from webapp.dumps.sessions import SpilledEntries, spilled
from webapp.dumps.source import entry_or_problem
from webapp.dumps.spans import logs
from webapp.dumps.spans.answers import identity_of, is_outer, span_turns, spoken_for
from webapp.dumps.spans.logs import Attributes, identity, is_bare
from webapp.dumps.spans.requests import EntrySpan, opened_span
from webapp.dumps.stream import walk
from webapp.dumps.values import as_list, as_object

_LISTS = ("resourceSpans", "resource_spans", "batches")
"""the last is Grafana Tempo's"""
_IN_TRACE = re.compile(r'\s*\{\s*"trace"\s*:\s*\{\s*"(resourceSpans|resource_spans|batches)"\s*:')
"""how its newer API wraps them"""
_LOGS = ("resourceLogs", "resource_logs")
_METRICS = {"resourceMetrics", "resource_metrics"}
_BOTH = (*_LISTS, *_LOGS)
_OF_MODELS = ("gen_ai.", "llm.", "ai.", "gcp.vertex.agent.llm", "mlflow.span")
"""how attributes of a model's span begin; those of others may be anything"""
_MOST_SPANS = 64
_TWICE = ("response", "tool_call")
"""what Vercel's SDK says in an outer and an inner span"""
Read = tuple[Turn, Side | None]
"""A turn, and what it may be a twin of: see `TurnWindow`."""
NO_TIME = logs.NO_TIME


@dataclass(slots=True)
class Trace(Conversation):
    number: int | None = None
    """which side of a pair the span is, where its SDK says things twice"""
    spans: dict[str, EntrySpan] = field(default_factory=dict)
    """those read last, by their ids: what was logged of them may come behind them"""


class Otlp(Format):
    shapes = 'OTLP traces {"resourceSpans": […]}, JSON (one a line, too) or protobuf'
    conversation_type = Trace
    HOME, SERVICE, VERSION = "fencepost.home", "service.name", "service.version"
    """attributes of a resource: the profile that the program parses with, and what it calls itself"""

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "protobuf":
            return 95
        known = [key for key in _BOTH if key != "batches" or "scopeSpans" in head.text]
        if head.shape == "object":
            return 95 if any(key in head.items for key in known) or _IN_TRACE.match(head.text) else 0
        samples = [sample for sample in head.objects if not sample.keys() & _METRICS]
        return 95 if samples and all(any(key in sample for key in known) for sample in samples) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        with spilled() as aside, spilled() as logged:
            problems, names, spans = [], dict[str, str](), set[str]()
            for entry in _spans(source, head):
                if isinstance(entry, Problem):
                    problems.append(entry)
                elif "log" in entry[1]:
                    logged.put(_span_of(entry[1]["log"]), logs.logged_at(entry[1]["log"]), *entry)
                else:
                    spans.add(_put(aside, names, *entry))
            for name, records in logged.sessions():  # what was logged of spans that are not here
                if name not in spans:
                    for lone in _lone(list(records)):
                        _put(aside, names, *lone)
            aside.rename(names)
            for name, entries in aside.sessions():
                yield SessionEntries(name, chain.from_iterable(_with_logs(entry, logged) for entry in entries))
            yield from problems

    def ids_of(self, entry: dict[str, Any]) -> dict[str, Any]:
        entry = self.as_otlp(entry)
        return {} if logs.has_no_span(entry) else {"span id": logs.span_of(as_object(entry.get("span")))}

    def as_otlp(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An entry as OTLP has it, `{"resource", "scope", "span"}`, with what was logged of the span."""
        return entry

    def checked(self, entry: dict[str, Any]) -> dict[str, Any]:
        """A model's span, or one without a name that is known of attributes, and what was logged of a model."""
        entry = self.as_otlp(entry)
        span, records = as_object(entry.get("span")), map(as_object, as_list(entry.get("logs")))
        names = [name for name in Attributes(span.get("attributes")).values if "." in name]
        is_of_model = not names or any(name.startswith(_OF_MODELS) for name in names)
        return {"span": span if is_of_model else None, "logs": list(filter(logs.is_of_a_model, records))}

    def read_entry(self, entry: dict[str, Any], conversation: Trace) -> list[Turn]:
        entry = self.as_otlp(entry)
        span = self._known(opened_span(entry), entry, conversation)
        vercel = span.attributes.text("ai.operationId") is not None
        conversation.number = None if not vercel else 0 if is_outer(span) else 1
        return span_turns(span, conversation)

    def _known(self, span: EntrySpan, entry: dict[str, Any], conversation: Trace) -> EntrySpan:
        """The span; log records that came behind theirs take its name and its model."""
        ident = logs.span_of(span.value) or ""
        if logs.has_no_span(entry):
            return spoken_for(span, conversation.spans.get(ident))
        conversation.spans[ident] = identity_of(span)
        if len(conversation.spans) > _MOST_SPANS:
            del conversation.spans[next(iter(conversation.spans))]
        return span

    def says_of_session(self, first: dict[str, Any]) -> dict[str, Any]:
        """What the resource says that the program is called and parses with."""
        attributes = Attributes(as_object(first.get("resource")).get("attributes"))
        version = attributes.text(self.VERSION)
        about = {"home": attributes.text(self.HOME), "service": attributes.text(self.SERVICE)}
        return about if version is None else {**about, "extra": {self.VERSION: version}}

    def side(self, turn: Turn, entry: dict[str, Any], conversation: Trace) -> Side | None:
        number = conversation.number
        return (turn.kind, number) if number is not None and turn.kind in _TWICE else None


plugin = Otlp()


def _span_of(record: dict[str, Any]) -> str:
    """The trace and the span that a log record belongs to, or that a span is."""
    return f"{logs.trace_of(record)}/{logs.span_of(record)}"


def _with_logs(entry: Entry, aside: SpilledEntries) -> Entries:
    """A span's entry with what was logged of it, each record once; log records without a span have theirs already."""
    at, value = entry
    if logs.has_no_span(value):
        yield entry
        return
    records: dict[bytes, dict[str, Any]] = {}
    for place, logged in aside.of(_span_of(value["span"])):
        if records.setdefault(logs.digest(logged["log"]), logged["log"]) is not logged["log"]:
            yield Problem(place, "this log record occurs twice in the log; it was read once")
    yield at, logs.with_logs(value, list(records.values())) if records else value


def _lone(records: list[Entry]) -> Iterator[Entry]:
    """What was logged of a span that is not in the dump; of no span at all, each record as an entry of its own."""
    together = logs.span_of(records[0][1]["log"]) is not None
    for group in [records] if together else [[record] for record in records]:
        yield group[0][0], logs.entry_of_logs([entry for _, entry in group])


def _put(aside: SpilledEntries, names: dict[str, str], at: str, entry: dict[str, Any]) -> str:
    """Keep a span by its trace, and note the session that it names for all spans of the trace. Gives its name."""
    span = identity(entry)
    trace = span.trace or "no trace"
    if span.session:
        names.setdefault(trace, span.session)
    aside.put(trace, NO_TIME if span.started is None else span.started, at, entry)
    return _span_of(entry["span"])


def _spans(source: Source, head: DumpHead) -> Entries:
    """The spans and log records of a dump; those that say nothing are one problem: a kilobyte may be a million."""
    first, count = "", 0
    for entry in _said(source, head):
        value = {} if isinstance(entry, Problem) else entry[1]
        is_said = not is_bare(value["span"]) if "span" in value else any(as_object(value.get("log")).values())
        if isinstance(entry, Problem) or is_said:
            yield entry
        else:
            first, count = first or entry[0], count + 1
    if count:
        nothing = "have only a name or an id and were left out; this is the first"
        yield Problem(first, f"{count:,} spans or log records {nothing}")


def _said(source: Source, head: DumpHead) -> Entries:
    for group in _groups(source, head):
        if isinstance(group, Problem):
            yield group
        else:
            yield from spans_of(*group)
            yield from logs.logs_of(*group)


def spans_of(at: str, group: dict[str, Any]) -> Entries:
    """Each span of a ResourceSpans as `{"resource", "scope", "span"}`, with its place."""
    scopes = group.get("scopeSpans", group.get("scope_spans", group.get("instrumentationLibrarySpans")))
    for number, scope in enumerate(as_list(scopes)):
        if not isinstance(listed := as_object(scope).get("spans", []), list):
            yield Problem(f"{at}.scopeSpans[{number}].spans", "expected a list; skipped")
        for index, span in enumerate(as_list(listed)):
            place = f"{at}.scopeSpans[{number}].spans[{index}]"
            if isinstance(span, dict):
                yield place, {"resource": group.get("resource"), "scope": scope.get("scope"), "span": span}
            else:
                yield Problem(place, "expected an object; skipped")


def _groups(source: Source, head: DumpHead) -> Entries:
    if head.shape == "protobuf":
        groups = otlp_protobuf.groups(source.file)
        return (group if isinstance(group, Problem) else (at, group) for at, group in groups)
    if head.shape == "object" and (match := _IN_TRACE.match(head.text)):
        return objects(inner_list(source.text(), "trace", match[1]), f"trace.{match[1]}")
    if head.shape == "object":
        keys = [key for key in _BOTH if key in head.items] or [_LISTS[0]]
        return (entry for key in keys for entry in objects(walk(source.text(), frozenset(_BOTH)), key))
    return (group for line in entries_of(source, head) for group in _of_line(line))


def _of_line(line: Entry | Problem) -> Entries:
    if isinstance(line, Problem):
        yield line
        return
    at, value = line
    keys = [key for key in _BOTH if isinstance(value.get(key), list)]
    if not keys:
        yield Problem(at, "no list of resourceSpans; skipped")
    for key in keys:
        for index, group in enumerate(value[key]):
            yield entry_or_problem(f"{at}, {key}[{index}]", group)


class Reader:
    """Reads a session's spans one after the other, and remembers what later ones need of earlier ones."""

    def __init__(self) -> None:
        self._trace = Trace()

    def turns(self, number: int, entry: dict[str, Any]) -> list[Read]:
        """The turns of one span as the entry `number`; `linked` has the last word."""
        turns = numbered(number, entry, plugin.read_entry(entry, self._trace), {})
        return [(turn, plugin.side(turn, entry, self._trace)) for turn in turns]

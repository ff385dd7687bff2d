"""OpenTelemetry traces (OTLP), JSON or protobuf: spans by start time, a session for each conversation or trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from webapp.dumps import grouping, otlp_wire
from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, Seen, id_text, objects, whole
from webapp.dumps.formats._asked import opened_span
from webapp.dumps.formats._attributes import Attributes, id_hex
from webapp.dumps.formats._bodies import Exchanges
from webapp.dumps.formats._otlp import is_outer, span_turns
from webapp.dumps.formats._turns import numbered
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.shelf import Shelf, shelf
from webapp.dumps.source import Source
from webapp.dumps.stream import walk
from webapp.dumps.times import moment
from webapp.dumps.twins import Side, merged

_LISTS = ("resourceSpans", "resource_spans")
_SESSIONS = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "ai.telemetry.metadata.sessionId")
_TWICE = ("response", "tool_call")
"""what Vercel's SDK says in an outer and an inner span"""
Read = tuple[Turn, Side | None]
"""A turn, and what it may be a twin of: see `merged`."""
NO_TIME = -(2**62)
"""Where a span stands that does not say when it started: before all others."""


class Otlp:
    name = "otlp"
    shapes = 'OTLP traces {"resourceSpans": […]}, JSON (one a line, too) or protobuf'

    def sniff(self, head: Head) -> int:
        if head.shape == "protobuf":
            return 95
        if head.shape == "object":
            return 95 if any(key in head.items for key in _LISTS) else 0
        found = [sample for sample in head.samples if isinstance(sample, dict)]
        return 95 if found and all(any(key in sample for key in _LISTS) for sample in found) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        with shelf() as aside:
            problems = []
            named: dict[str, str] = {}
            for found in _spans(source, head):
                if isinstance(found, Problem):
                    problems.append(found)
                else:
                    _put(aside, named, *found)
            aside.rename(named)
            for name, entries in aside.sessions():
                yield SessionStart(name, self.name)
                yield from self.turns(entries, {})
            yield from problems

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return linked(_turns(entries))


plugin = Otlp()


@dataclass(frozen=True, slots=True)
class Identity:
    """What a span is called: ids as hex where they are sound, else as they came; `started` in nanoseconds.

    `session` is the session that the span or its resource names.
    """

    trace: str | None
    span: str | None
    session: str | None
    started: int | None


def identity(entry: dict[str, Any]) -> Identity:
    """Who the span of an entry `{"resource", "scope", "span"}` is."""
    span, resource = entry["span"], entry.get("resource")
    return Identity(
        trace=id_hex(span.get("traceId", span.get("trace_id")), 16),
        span=id_hex(span.get("spanId", span.get("span_id")), 8),
        session=_session(span) or (_session(resource) if isinstance(resource, dict) else None),
        started=_started(span),
    )


def _session(holder: dict[str, Any]) -> str | None:
    """The session that attributes name; most name none, and need not be opened."""
    listed = holder.get("attributes")
    if isinstance(listed, list):
        listed = [pair for pair in listed if isinstance(pair, dict) and pair.get("key") in _SESSIONS]
    return id_text(Attributes(listed, ()).first(*_SESSIONS)) if listed else None


def _started(span: dict[str, Any]) -> int | None:
    written = span.get("startTimeUnixNano", span.get("start_time_unix_nano"))
    if (started := whole(written)) is not None:
        return started
    return None if (when := moment(written)) is None else int(when.timestamp() * 1e9)


def _put(aside: Shelf, named: dict[str, str], at: str, entry: dict[str, Any]) -> None:
    """Keep a span by its trace, and note the session that it names for all spans of the trace."""
    known = identity(entry)
    trace = known.trace or "no trace"
    if known.session:
        named.setdefault(trace, known.session)
    aside.put(trace, NO_TIME if known.started is None else known.started, at, entry)


def _spans(source: Source, head: Head) -> Iterator[Entry | Problem]:
    for at, group in _groups(source, head):
        if isinstance(group, Problem):
            yield group
        else:
            yield from spans_of(at, group)


def spans_of(at: str, group: dict[str, Any]) -> Iterator[Entry | Problem]:
    """Each span of a ResourceSpans as `{"resource", "scope", "span"}`, with its place."""
    scopes = group.get("scopeSpans", group.get("scope_spans", group.get("instrumentationLibrarySpans")))
    for number, scope in enumerate(scopes if isinstance(scopes, list) else []):
        spans = scope.get("spans") if isinstance(scope, dict) else None
        for index, span in enumerate(spans if isinstance(spans, list) else []):
            place = f"{at}.scopeSpans[{number}].spans[{index}]"
            if isinstance(span, dict):
                yield place, {"resource": group.get("resource"), "scope": scope.get("scope"), "span": span}
            else:
                yield Problem(place, "expected an object; skipped")


def _groups(source: Source, head: Head) -> Iterator[tuple[str, dict[str, Any] | Problem]]:
    if head.shape == "protobuf":
        yield from otlp_wire.groups(source.file)
        return
    if head.shape == "object":
        key = next(key for key in (*_LISTS, "") if key in head.items or not key)
        found = objects(walk(source.text(), frozenset(_LISTS)), key)
    else:
        lines = objects(walk(source.text(), frozenset()), "") if head.shape == "array" else grouping.lines(source)
        found = (group for line in lines for group in _of_line(line))
    for entry in found:
        yield (entry.at, entry) if isinstance(entry, Problem) else entry


def _of_line(line: Entry | Problem) -> Iterator[Entry | Problem]:
    if isinstance(line, Problem):
        yield line
        return
    at, value = line
    listed = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if listed is None:
        yield Problem(at, "no list of resourceSpans; skipped")
    for index, group in enumerate(listed or []):
        place = f"{at}, resourceSpans[{index}]"
        yield (place, group) if isinstance(group, dict) else Problem(place, "expected an object; skipped")


class Reader:
    """Reads a session's spans one after the other, and remembers what later ones need of earlier ones."""

    def __init__(self) -> None:
        self._state = Exchanges()

    def turns(self, number: int, entry: dict[str, Any]) -> list[Read]:
        """The turns of one span as the entry `number`, whose text is taken out of it; `linked` has the last word."""
        span = opened_span(entry)
        vercel = span.own.text("ai.operationId") is not None
        side = 0 if vercel and is_outer(span) else 1
        found = numbered(number, entry, span_turns(span, self._state))
        return [(turn, (turn.kind, side) if vercel and turn.kind in _TWICE else None) for turn in found]

    @property
    def size(self) -> int:
        """Characters that it remembers, about."""
        state = self._state
        return sum(map(len, state.asked)) + 60 * len(state.answered) + 200 * len(state.talk.tools)


def linked(turns: Iterable[tuple[Turn | Problem, Side | None]]) -> Iterator[Turn | Problem]:
    """The turns that a `Reader` read, with what one says of another."""
    return reported(merged(turns))


def _turns(entries: Iterable[Entry | Problem]) -> Iterator[tuple[Turn | Problem, Side | None]]:
    reader, count, seen = Reader(), 0, Seen("span id")
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry, None
            continue
        at, value = entry
        span = value.get("span")
        if isinstance(span, dict):
            for problem in seen.again(at, id_hex(span.get("spanId", span.get("span_id")), 8)):
                yield problem, None
        yield from reader.turns(count, value)
        count += 1

"""Spans as they arrive: which are sound, and what became of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from webapp.dumps.documents import Entry
from webapp.dumps.formats import otlp
from webapp.dumps.records import Problem

TRACE, SPAN = 16, 8
"""bytes of an id"""
_LATEST = 2**63 - 1
"""nanoseconds: the year 2262, the last that the column holds"""


@dataclass(slots=True)
class Arrived:
    """One span with its place in the request; `refused` and `repeated` say what became of it.

    `entry` is `{"resource", "scope", "span"}`; `started` in nanoseconds; `number` its entry in the session.
    """

    at: str
    entry: dict[str, Any]
    trace: bytes
    id: bytes
    session: str | None
    started: int
    number: int = -1
    repeated: bool = False
    refused: str | None = None


def arrived(groups: Iterable[tuple[str, dict[str, Any] | Problem]]) -> Iterator[Arrived | Problem]:
    """The spans of a request's ResourceSpans; what cannot be taken is a problem."""
    for at, group in groups:
        if isinstance(group, Problem):
            yield group
            continue
        for raw_entry in otlp.spans_of(at, group):
            yield raw_entry if isinstance(raw_entry, Problem) else _sound(raw_entry)


def _sound(raw_entry: Entry) -> Arrived | Problem:
    """A span needs both ids (opentelemetry-proto, trace.proto): without them one that comes again is not known."""
    at, entry = raw_entry
    identity = otlp.identity(entry)
    trace, span = id_bytes(identity.trace, TRACE), id_bytes(identity.span, SPAN)
    if trace is None:
        return Problem(at, "its traceId is not 16 bytes, or all zeros")
    if span is None:
        return Problem(at, "its spanId is not 8 bytes, or all zeros")
    started = otlp.NO_TIME if identity.started is None else max(otlp.NO_TIME, min(identity.started, _LATEST))
    return Arrived(at, entry, trace, span, identity.session, started)


def id_bytes(ident: str | None, size: int) -> bytes | None:
    """The bytes of an id, or None where it is none of that size."""
    try:
        data = bytes.fromhex(ident or "")
    except ValueError:
        return None
    return data if len(data) == size and any(data) else None

"""Where spans belong: a trace stays where its first span went; which came before, and stored ones as they came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from webapp import jsontext
from webapp.dumps.records import whole_entry
from webapp.store.db.dialect import change
from webapp.store.db.ids import batched, shortened
from webapp.store.models import LiveSpan, Session
from webapp.store.models import Turn as StoredTurn

TRACE, SPAN = 16, 8
"""bytes of an id"""


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


def id_bytes(ident: str | None, size: int) -> bytes | None:
    """The bytes of an id, or None where it is none of that size."""
    try:
        data = bytes.fromhex(ident or "")
    except ValueError:
        return None
    return data if len(data) == size and any(data) else None


find_spans = sa.select(LiveSpan.trace, LiveSpan.span, LiveSpan.session_id, LiveSpan.ordinal).where(
    LiveSpan.trace.in_(sa.bindparam("traces", expanding=True)),
    LiveSpan.span.in_(sa.bindparam("spans", expanding=True)),
)
_find_entries = sa.select(StoredTurn.ordinal, StoredTurn.source, StoredTurn.raw, StoredTurn.raw_at).where(
    StoredTurn.session_id == sa.bindparam("session"),
    StoredTurn.ordinal.in_(sa.bindparam("ordinals", expanding=True)),
)


def entries(connection: sa.Connection, session_id: int, ordinals: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The stored entries whose first turns have these ordinals, by these; {} for one that is no object."""
    sources: dict[int, dict[str, Any]] = {}
    for batch in batched(ordinals):
        for row in connection.execute(_find_entries, {"session": session_id, "ordinals": batch}):
            entry = whole_entry(row.source, row.raw, row.raw_at)
            sources[row.ordinal] = entry if isinstance(entry, dict) else {}
    return sources


_find = (
    sa.select(
        Session.external_id,
        Session.id,
        Session.key,
        Session.source_format,
        Session.deleted_at.is_not(None).label("deleted"),
    )
    .where(Session.external_id.in_(sa.bindparam("names", expanding=True)))
    .order_by(Session.id)
    .with_for_update(key_share=True)
)
"""locked, since what is counted of a session is read and written; a later revision has a higher id"""
_Key = tuple[bytes, bytes]


def stored(connection: sa.Connection, names: Sequence[str], source_format: str) -> dict[str, Any]:
    """Those of the sessions `names` whose newest revision came in this format: rows with its `id`, its `key`, and
    whether it is `deleted`."""
    newest = {row.external_id: row for part in batched(names) for row in connection.execute(_find, {"names": part})}
    return {name: row for name, row in newest.items() if row.source_format == source_format}


def unknown(
    connection: sa.Connection, sessions: dict[str, int], spans: dict[str, list[Arrived]]
) -> dict[str, list[Arrived]]:
    """The spans of each session that it does not hold, each once; `sessions` are the ids of those that are stored."""
    once = {name: _each_once(arrived) for name, arrived in spans.items()}
    candidates = [span for name in sessions for span in once[name]]
    ordinals: dict[tuple[int, _Key], int] = {}
    for part in batched(candidates):
        keys = {"traces": list({span.trace for span in part}), "spans": list({span.id for span in part})}
        for row in connection.execute(find_spans, keys):
            ordinals[row.session_id, (bytes(row.trace), bytes(row.span))] = row.ordinal
    return {name: _new(connection, sessions.get(name), arrived, ordinals) for name, arrived in once.items()}


def _new(
    connection: sa.Connection, session_id: int | None, spans: list[Arrived], ordinals: dict[tuple[int, _Key], int]
) -> list[Arrived]:
    if session_id is None:
        return spans
    new = []
    for span in spans:
        ordinal = ordinals.get((session_id, (span.trace, span.id)))
        if ordinal is None:
            new.append(span)
        else:
            before = entries(connection, session_id, [ordinal]).get(ordinal, {})
            _compare(span, _written(before) == _written(span.entry))
    return new


def _written(entry: dict[str, Any]) -> str:
    """An entry without the log records that were put to it, as text."""
    return jsontext.dumps({**entry, "logs": None})


def _each_once(spans: list[Arrived]) -> list[Arrived]:
    """The first of each; one that comes again in the same moment says so."""
    first: dict[_Key, Arrived] = {}
    for span in spans:
        first_span = first.setdefault((span.trace, span.id), span)
        if first_span is not span:
            _compare(span, _written(span.entry) == _written(first_span.entry))
    return list(first.values())


def _compare(span: Arrived, same: bool) -> None:
    if same:
        span.repeated = True
    else:
        span.refused = (
            f"the span {span.id.hex()} of the trace {span.trace.hex()} came again with other content; the first stays"
        )


_find_name = sa.select(Session.id).where(Session.external_id == sa.bindparam("name")).limit(1)

_newest = (
    sa.select(LiveSpan.trace, sa.func.max(LiveSpan.session_id).label("session_id"))
    .where(LiveSpan.trace.in_(sa.bindparam("traces", expanding=True)))
    .group_by(LiveSpan.trace)
    .subquery()
)
_find_trace = sa.select(_newest.c.trace, Session.id, Session.external_id).join(
    Session, Session.id == _newest.c.session_id
)


def routed(connection: sa.Connection, spans: Iterable[Arrived]) -> dict[str, list[Arrived]]:
    """The spans by the id of the session that they belong to.

    That is the session that a span of the trace or its resource names, else the trace's id; once spans of the trace
    are stored, it is where they are.
    """
    traces: dict[bytes, list[Arrived]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    by_trace = _stored(connection, list(traces))
    by_session: dict[str, list[Arrived]] = {}
    for trace, group in traces.items():
        session_name = next((shortened(span.session) for span in group if span.session), None)
        session_id = by_trace.get(trace)
        name = (
            session_name or trace.hex() if session_id is None else _stays(connection, *session_id, trace, session_name)
        )
        by_session.setdefault(name, []).extend(group)
    return by_session


def _stored(connection: sa.Connection, traces: list[bytes]) -> dict[bytes, tuple[int, str]]:
    """The session of each trace that has one, and its name."""
    by_trace: dict[bytes, tuple[int, str]] = {}
    for batch in batched(traces):
        rows = connection.execute(_find_trace, {"traces": batch})
        by_trace |= {bytes(trace): (session_id, name) for trace, session_id, name in rows}
    return by_trace


def _stays(connection: sa.Connection, session_id: int, name: str, trace: bytes, session_name: str | None) -> str:
    """The stored session's id. One that is called by its trace takes the name that a later span gives, if it is free.

    Where a session of that name is there already, the trace stays a session of its own: turns never change sessions.
    """
    if session_name is None or name != trace.hex() or connection.scalar(_find_name, {"name": session_name}) is not None:
        return name
    names = {"external_id": session_name, "changed": change(), "stale": True}  # search knows the old name
    connection.execute(sa.update(Session).where(Session.id == session_id).values(names))
    return session_name

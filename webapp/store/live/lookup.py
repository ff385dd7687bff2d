"""Finds what is stored already: the sessions that spans belong to, and the spans that came before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp.dumps.formats.otlp import plugin as otlp
from webapp.store.live import reading
from webapp.store.live.spans import Arrived
from webapp.store.models import LiveSpan, Session
from webapp.store.models import Turn as StoredTurn

_AT_ONCE = 500
_find = (
    sa.select(
        Session.external_id,
        Session.id,
        Session.source_format,
        Session.deleted_at.is_not(None).label("deleted"),
    )
    .where(Session.external_id.in_(sa.bindparam("names", expanding=True)))
    .order_by(Session.id)
    .with_for_update(key_share=True)
)
"""locked, since what is counted of a session is read and written; a later revision has a higher id"""
find_spans = sa.select(LiveSpan.trace, LiveSpan.span, LiveSpan.session_id, LiveSpan.ordinal).where(
    LiveSpan.trace.in_(sa.bindparam("traces", expanding=True)),
    LiveSpan.span.in_(sa.bindparam("spans", expanding=True)),
)
_find_digest = sa.select(StoredTurn.entry_sha256).where(
    StoredTurn.session_id == sa.bindparam("session"), StoredTurn.ordinal == sa.bindparam("ordinal")
)
_Key = tuple[bytes, bytes]


class LiveSession(NamedTuple):
    """The newest revision of a session that spans can be added to."""

    id: int
    deleted: bool


def stored(connection: sa.Connection, names: Sequence[str]) -> dict[str, LiveSession]:
    """Those of the sessions `names` whose newest revision came as spans."""
    newest = {row.external_id: row for part in _parts(names) for row in connection.execute(_find, {"names": part})}
    return {name: LiveSession(row.id, row.deleted) for name, row in newest.items() if row.source_format == otlp.name}


def unknown(
    connection: sa.Connection, sessions: dict[str, int], spans: dict[str, list[Arrived]]
) -> dict[str, list[Arrived]]:
    """The spans of each session that it does not hold, each once; `sessions` are the ids of those that are stored."""
    once = {name: _each_once(arrived) for name, arrived in spans.items()}
    candidates = [span for name in sessions for span in once[name]]
    ordinals: dict[tuple[int, _Key], int] = {}
    for part in _parts(candidates):
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
            _compare(span, _is_same(connection, session_id, ordinal, span))
    return new


def _is_same(connection: sa.Connection, session_id: int, ordinal: int, span: Arrived) -> bool:
    """Whether a stored span is what came again, but for the log records that were put to it."""
    digest = connection.scalar(_find_digest, {"session": session_id, "ordinal": ordinal})
    if digest == reading.digest(span.entry):
        return True
    entry = reading.entries(connection, session_id, [ordinal]).get(ordinal, {})
    if "logs" not in entry:
        return False
    return reading.digest({key: value for key, value in entry.items() if key != "logs"}) == reading.digest(span.entry)


def _each_once(spans: list[Arrived]) -> list[Arrived]:
    """The first of each; one that comes again in the same moment says so."""
    first: dict[_Key, Arrived] = {}
    for span in spans:
        first_span = first.setdefault((span.trace, span.id), span)
        if first_span is not span:
            _compare(span, reading.digest(span.entry) == reading.digest(first_span.entry))
    return list(first.values())


def _compare(span: Arrived, same: bool) -> None:
    if same:
        span.repeated = True
    else:
        span.refused = (
            f"the span {span.id.hex()} of the trace {span.trace.hex()} came again with other content; the first stays"
        )


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (values[at : at + _AT_ONCE] for at in range(0, len(values), _AT_ONCE))

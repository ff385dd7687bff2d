"""Finds the session of each span: a trace stays where its first span went."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from webapp.store.db.dialect import change
from webapp.store.db.ids import shortened
from webapp.store.live.spans import Arrived
from webapp.store.models import LiveSpan, Session

_AT_ONCE = 500
_find_name = sa.select(Session.id).where(Session.external_id == sa.bindparam("name")).limit(1)

_newest = (
    sa.select(LiveSpan.trace, sa.func.max(LiveSpan.session_id).label("session_id"))
    .where(LiveSpan.trace.in_(sa.bindparam("traces", expanding=True)))
    .group_by(LiveSpan.trace)
    .subquery()
)
_find = sa.select(_newest.c.trace, Session.id, Session.external_id).join(Session, Session.id == _newest.c.session_id)


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
    for at in range(0, len(traces), _AT_ONCE):
        rows = connection.execute(_find, {"traces": traces[at : at + _AT_ONCE]})
        by_trace |= {bytes(trace): (session_id, name) for trace, session_id, name in rows}
    return by_trace


def _stays(connection: sa.Connection, session_id: int, name: str, trace: bytes, session_name: str | None) -> str:
    """The stored session's id. One that is called by its trace takes the name that a later span gives, if it is free.

    Where a session of that name is there already, the trace stays a session of its own: turns never change sessions.
    """
    if session_name is None or name != trace.hex() or connection.scalar(_find_name, {"name": session_name}) is not None:
        return name
    renamed = sa.update(Session).where(Session.id == session_id).values(external_id=session_name, changed=change())
    connection.execute(renamed)
    return session_name

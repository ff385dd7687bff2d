"""Counts a session's facets anew from what is stored of it: after a replay, and where an older version wrote it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import sqlalchemy as sa

from webapp.parsing import Trace
from webapp.store import heads
from webapp.store.dialect import change
from webapp.store.facets import Digest, Facets, digest
from webapp.store.models import Finding, Parse, Session, Turn
from webapp.store.parsed import OURS

_AT_ONCE = 200


def recounted(connection: sa.Connection, session_id: int, home: str) -> dict[str, Any]:
    """The values of `session.facets` and `raw_bytes`, with every profile that there are parses of."""
    facets = Facets()
    size = 0
    query = (
        sa.select(Turn.id, Turn.kind, Turn.agent, Turn.phase, Turn.model, Turn.tool_calls, Turn.recorded_failure)
        .add_columns(heads.Length(Turn.raw).label("size"))
        .where(Turn.session_id == session_id, Turn.duplicate_of.is_(None))
        .order_by(Turn.ordinal)
    )
    for rows in connection.execute(query).partitions(_AT_ONCE):
        made = _digests(connection, [row.id for row in rows])
        for row in rows:
            size += row.size or 0
            facets.turn(row, row._asdict())
            if home in made[row.id]:
                _count(facets, row.model, made[row.id], home)
            if row.recorded_failure is not None:
                facets.failure(row.recorded_failure)
    facets.finding = _findings(connection, session_id)
    return {"facets": facets.as_dict(), "raw_bytes": size}


def backfill(connection: sa.Connection) -> int:
    """Count the sessions that were written before there were facets; how many."""
    query = sa.select(Session.id, Session.home_profile).where(Session.facets.is_(None), Session.turn_count > 0)
    rows = connection.execute(query).all()
    for row in rows:
        values = recounted(connection, row.id, row.home_profile)
        connection.execute(sa.update(Session).where(Session.id == row.id).values(**values, changed=change()))
    return len(rows)


def _digests(connection: sa.Connection, turn_ids: list[int]) -> dict[int, dict[str, Digest]]:
    """What is counted of each turn's parses, by profile."""
    found: dict[int, dict[str, Digest]] = defaultdict(dict)
    query = sa.select(Parse.turn_id, Parse.profile, Parse.trace).where(Parse.turn_id.in_(turn_ids))
    for row in connection.execute(query):
        found[row.turn_id][row.profile] = digest(Trace.from_dict(row.trace))
    return found


def _count(facets: Facets, model: str | None, made: dict[str, Digest], home: str) -> None:
    first = [made.pop(name) for name in dict.fromkeys((home, OURS)) if name in made]
    facets.response(model, first)
    for other in made.values():
        facets.count(other)


def _findings(connection: sa.Connection, session_id: int) -> dict[str, int]:
    count = sa.func.count()
    query = sa.select(Finding.rule, count).where(Finding.session_id == session_id).group_by(Finding.rule)
    return {row[0]: row[1] for row in connection.execute(query)}

"""Writes a parsed chunk: traces, what is counted of them and the run's progress, in one transaction or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from webapp.store.db.database import writing_long
from webapp.store.db.dialect import change
from webapp.store.jobs import run_chunks
from webapp.store.jobs.response_chunks import COUNTED, ParsedChunk
from webapp.store.models import TURNS_A_SESSION, Parse, ParseRepair, Run, Session
from webapp.store.write import derived, facets, list_rows, regrouping, row_values, rows
from webapp.store.write.parser import OURS

_sessions: sa.Table = Session.__table__  # type: ignore[assignment]
_set_facets = (
    sa.update(_sessions)
    .where(_sessions.c.id == sa.bindparam("session"))
    .values(facets=sa.bindparam("counted", type_=_sessions.c.facets.type), changed=change())
)


class Cancelled(Exception):
    """The run has ended meanwhile; what it stored before stays."""


def store(engine: sa.Engine, run_id: int, profile: str, owner: str, parsed: ParsedChunk) -> bool:
    """Keep a chunk's traces, count them and note the run's progress; False where `owner` has lost the chunk.

    Rows are locked in one order: the chunk, its sessions, the run. Raises `Cancelled`.
    """
    with writing_long(engine) as connection:
        if not run_chunks.is_held(connection, run_id, parsed.chunk.low, owner):
            if connection.scalar(sa.select(Run.state).where(Run.id == run_id)) != "running":
                raise Cancelled
            return False
        folded = _keep(connection, profile, parsed)
        if (session_id := parsed.chunk.part_of) is None:
            run_chunks.note_stored(connection, run_id, parsed.chunk)
        else:
            _locked(connection, [session_id])
            is_due = run_chunks.store_part(connection, run_id, parsed.chunk, session_id, folds=session_id in folded)
            folded = {session_id} if is_due else set()
        for folded_id in sorted(folded):
            derived.refold(connection, folded_id)
        advance(connection, run_id, parsed.counts)
    return True


def advance(connection: sa.Connection, run_id: int, counts: dict[str, int]) -> None:
    """Add to a run's counts; with its last chunk the run is done. Raises `Cancelled`."""
    query = sa.select(Run.counts, Run.total).where(Run.id == run_id, Run.state == "running")
    row = connection.execute(query.with_for_update()).one_or_none()
    if row is None:
        raise Cancelled
    total = {name: (row.counts or {}).get(name, 0) + counts.get(name, 0) for name in COUNTED}
    values: dict[str, Any] = {"counts": total, "progress": min(1.0, total["responses"] / max(1, row.total or 0))}
    if not run_chunks.are_left(connection, run_id):
        run_chunks.settle(connection, run_id)
        values |= {"state": "done", "progress": 1.0, "finished_at": datetime.now(UTC)}
    connection.execute(sa.update(Run).where(Run.id == run_id).values(values))


def _keep(connection: sa.Connection, profile: str, parsed: ParsedChunk) -> set[int]:
    """Store what was parsed anew and count it; the sessions that have to be folded anew for it."""
    locked_sessions = _locked(connection, parsed.added)
    kept_parses = [row for row in parsed.parses if row[0] // TURNS_A_SESSION in locked_sessions]
    versions = _replaced(connection, profile, [row[0] for row in kept_parses])
    rows.insert_values(connection, rows.parses, row_values.PARSE, kept_parses)
    kept_repairs = [row for row in parsed.repairs if row[0] // TURNS_A_SESSION in locked_sessions]
    rows.insert_values(connection, rows.repairs, row_values.REPAIR, kept_repairs)
    if profile == OURS:
        regrouping.regroup(connection, [row[0] for row in kept_parses])
    overtaken = {turn // TURNS_A_SESSION for turn, _ in versions.items() ^ parsed.versions.items()}
    folded = {
        row.id
        for row in locked_sessions.values()
        if profile in (row.home_profile, OURS) or row.facets is None or row.id in overtaken
    }
    counted = []
    for number in locked_sessions.keys() - folded:
        old, removed = locked_sessions[number].facets, parsed.removed.get(number, ())
        new = facets.recounted(old, profile, removed, parsed.added[number])
        counted.append({"session": number, "counted": new})
    if counted:
        connection.execute(_set_facets, counted)
        list_rows.renew(connection, locked_sessions.keys() - folded)
    return folded


def _locked(connection: sa.Connection, session_ids: Iterable[int]) -> dict[int, sa.Row[Any]]:
    """Those sessions that are still there; nobody else writes them before the transaction ends."""
    query = sa.select(Session.id, Session.home_profile, Session.facets).where(Session.id.in_(list(session_ids)))
    locked = connection.execute(query.order_by(Session.id).with_for_update(key_share=True))
    return {row.id: row for row in locked}


def _replaced(connection: sa.Connection, profile: str, turn_ids: list[int]) -> dict[int, str]:
    """Remove what the profile made of these turns before; the version of each such parse."""
    mine = sa.and_(Parse.turn_id.in_(turn_ids), Parse.profile == profile)
    versions: dict[int, str] = dict(connection.execute(sa.select(Parse.turn_id, Parse.version).where(mine)).all())
    if versions:
        connection.execute(sa.delete(Parse).where(mine))
        repairs = sa.and_(ParseRepair.turn_id.in_(turn_ids), ParseRepair.profile == profile)
        connection.execute(sa.delete(ParseRepair).where(repairs))
    return versions

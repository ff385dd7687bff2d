"""Writes a parsed chunk: traces, what is counted of them and the run's progress, in one transaction or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from webapp.store import derive
from webapp.store.db.database import writing_long
from webapp.store.jobs import run_chunks
from webapp.store.jobs.response_chunks import COUNTED, ParsedChunk
from webapp.store.models import TURNS_A_SESSION, Parse, ParseRepair, Run, Session
from webapp.store.write import regrouping, row_values, rows
from webapp.store.write.parser import OURS


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
        derive.derive(connection, folded)
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
    """Store what was parsed anew; the sessions that are to be derived for it."""
    locked_sessions = _locked(connection, parsed.sessions)
    kept_parses = [row for row in parsed.parses if row[0] // TURNS_A_SESSION in locked_sessions]
    _replaced(connection, profile, [row[0] for row in kept_parses])
    rows.insert_values(connection, rows.parses, row_values.PARSE, kept_parses)
    kept_repairs = [row for row in parsed.repairs if row[0] // TURNS_A_SESSION in locked_sessions]
    rows.insert_values(connection, rows.repairs, row_values.REPAIR, kept_repairs)
    if profile == OURS:
        regrouping.regroup(connection, [row[0] for row in kept_parses])
    return set(locked_sessions)


def _locked(connection: sa.Connection, session_ids: Iterable[int]) -> dict[int, sa.Row[Any]]:
    """Those sessions that are still there; nobody else writes them before the transaction ends."""
    query = sa.select(Session.id).where(Session.id.in_(list(session_ids)))
    locked = connection.execute(query.order_by(Session.id).with_for_update(key_share=True))
    return {row.id: row for row in locked}


def _replaced(connection: sa.Connection, profile: str, turn_ids: list[int]) -> None:
    """Remove what the profile made of these turns before."""
    for table in (Parse, ParseRepair):
        connection.execute(sa.delete(table).where(table.turn_id.in_(turn_ids), table.profile == profile))

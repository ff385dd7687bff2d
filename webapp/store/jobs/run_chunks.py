"""The chunks of runs that go on: rows that workers claim, store and let go, and what is left where a run ends."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from webapp.store import derive
from webapp.store.db.database import writing
from webapp.store.jobs import claims
from webapp.store.jobs.response_chunks import Chunk
from webapp.store.models import TURNS_A_SESSION, RunChunk, turns_of

MOST_TRIES = 3
"""How many workers may die over a chunk before its run is given up."""


class KillsWorkers(RuntimeError):
    """Worker after worker died over one chunk: the message names its turns."""


def insert(connection: sa.Connection, run_id: int, chunks: list[Chunk]) -> None:
    fresh = {"run_id": run_id, "state": "waiting", "tries": 0, "uncounted": False}
    rows = [{**fresh, "low": chunk.low, "high": chunk.high, "session_ids": chunk.session_ids} for chunk in chunks]
    if rows:
        connection.execute(sa.insert(RunChunk), rows)


def claim(engine: sa.Engine, run_id: int, owner: str, low: int | None = None) -> Chunk | None:
    """The next chunk of a run (or the one from `low` on) for `owner`, that nobody has; None where there is none.

    Raises `KillsWorkers`.
    """
    wanted = _free(engine, run_id, owner) if low is None else sa.and_(_free(engine, run_id, owner), RunChunk.low == low)
    query = sa.select(RunChunk.low).where(wanted).order_by(RunChunk.low).limit(1).with_for_update(skip_locked=True)
    mine = sa.update(RunChunk).where(RunChunk.run_id == run_id, RunChunk.low == query.scalar_subquery())
    columns = (RunChunk.low, RunChunk.high, RunChunk.session_ids, RunChunk.tries)
    with writing(engine) as connection:
        row = connection.execute(mine.values(claims.claimed_by(owner, RunChunk)).returning(*columns)).first()
    if row is None:
        return None
    if row.tries > MOST_TRIES:
        raise KillsWorkers(f"{row.tries} workers died over the turns {row.low} to {row.high}")
    return Chunk(row.low, row.high, None if row.session_ids is None else tuple(row.session_ids))


def claimed(engine: sa.Engine, run_id: int, owner: str) -> Iterator[Chunk]:
    """Chunk after chunk of a run, until none is free."""
    while (chunk := claim(engine, run_id, owner)) is not None:
        yield chunk


def release(engine: sa.Engine, run_id: int, owner: str, *, killed: bool = False) -> None:
    """Leave to others what `owner` claimed and did not store; `killed` where a process died over it."""
    mine = sa.and_(RunChunk.run_id == run_id, RunChunk.owner == owner, RunChunk.state == "running")
    values = {"state": "waiting", "owner": None, "tries": RunChunk.tries + int(killed)}
    with writing(engine) as connection:
        connection.execute(sa.update(RunChunk).where(mine).values(values))


def is_held(connection: sa.Connection, run_id: int, low: int, owner: str) -> bool:
    """Whether `owner` still has the chunk; nobody takes it before the transaction ends."""
    mine = sa.and_(RunChunk.run_id == run_id, RunChunk.low == low, RunChunk.owner == owner, RunChunk.state == "running")
    return connection.scalar(sa.select(RunChunk.low).where(mine).with_for_update()) is not None


def store_part(connection: sa.Connection, run_id: int, chunk: Chunk, session_id: int, *, folds: bool) -> bool:
    """Note a part of a session as stored; whether the session is to be folded now, since it is the last one.

    The caller holds the session's row, so that of two last parts one comes second.
    """
    others = sa.and_(RunChunk.run_id == run_id, turns_of(RunChunk.low, session_id), RunChunk.low != chunk.low)
    rows = connection.execute(sa.select(RunChunk.state, RunChunk.uncounted).where(others)).all()
    is_last = all(row.state == "done" for row in rows)
    note_stored(connection, run_id, chunk, uncounted=folds and not is_last)
    if is_last:
        connection.execute(sa.update(RunChunk).where(others, RunChunk.uncounted).values(uncounted=False))
    return is_last and (folds or any(row.uncounted for row in rows))


def note_stored(connection: sa.Connection, run_id: int, chunk: Chunk, *, uncounted: bool = False) -> None:
    """Note a chunk as stored, as part of a session that is `uncounted` until the last of its parts is there."""
    here = sa.and_(RunChunk.run_id == run_id, RunChunk.low == chunk.low)
    connection.execute(sa.update(RunChunk).where(here).values(state="done", owner=None, uncounted=uncounted))


def are_left(connection: sa.Connection, run_id: int) -> bool:
    query = sa.select(RunChunk.low).where(RunChunk.run_id == run_id, RunChunk.state.in_(("waiting", "running")))
    return connection.scalar(query.limit(1)) is not None


def are_free(engine: sa.Engine, connection: sa.Connection, run_id: int) -> bool:
    return connection.scalar(sa.select(RunChunk.low).where(_free(engine, run_id)).limit(1)) is not None


def _free(engine: sa.Engine, run_id: int, owner: str = "") -> sa.ColumnElement[bool]:
    """Chunks that nobody has: on SQLite also those that run, but for the owner's own, since there is one worker."""
    others = sa.and_(RunChunk.owner != owner, claims.is_left(engine, RunChunk.beat_at))
    is_free = sa.or_(RunChunk.state == "waiting", sa.and_(RunChunk.state == "running", others))
    return sa.and_(RunChunk.run_id == run_id, is_free)


def settle(connection: sa.Connection, run_id: int) -> None:
    """Count what parts of sessions left uncounted, and forget the chunks of a run that has ended."""
    here = RunChunk.run_id == run_id
    lows = connection.scalars(sa.select(RunChunk.low).where(here, RunChunk.uncounted))
    for session_id in sorted({low // TURNS_A_SESSION for low in lows}):
        derive.derive(connection, [session_id])
    connection.execute(sa.delete(RunChunk).where(here))

"""Runs: a profile over many stored responses, its parses stored and its results counted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from webapp import parsing
from webapp.config import Settings
from webapp.parsing.installing import refuse_absent
from webapp.store.db import clock
from webapp.store.db.database import writing
from webapp.store.ingest import dump_files
from webapp.store.jobs import chunk_writing, claims, heartbeat, response_chunks, run_chunks
from webapp.store.jobs.chunk_writing import Cancelled
from webapp.store.jobs.processors import processors
from webapp.store.jobs.response_chunks import COUNTED, Chunk, ParsedChunk
from webapp.store.jobs.run_queue import QUEUED, filters_scope, session_ids, session_scope
from webapp.store.models import Run, RunChunk
from webapp.store.sessions.filters import Filters

OnProgress = Callable[[int, int], None]
_log = logging.getLogger(__name__)


class ParserDied(RuntimeError):
    """A process that parses died, as when the profile's own code ended it; what was stored before stays."""


@dataclass(slots=True)
class Replay:
    """A run: `counts` holds responses, each verdict, rescued; `new` of them were parsed, the others had been before.

    `state` is running, done, cancelled, failed, or interrupted where its process ended before it did. Both count what
    this process stored, which is all of it unless workers share the run.
    """

    id: int
    profile: str
    version: str
    scope: dict[str, Any]
    total: int
    state: str = "running"
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    new: int = 0


def replay(
    engine: sa.Engine,
    settings: Settings,
    profile: str,
    *,
    session: str | None = None,
    filters: Filters | None = None,
    processes: int | None = None,
    again: bool = False,
    on_progress: OnProgress = lambda *_: None,
) -> Replay:
    """Parse every stored response (or one session's, or those under `filters`) with `profile` and keep the traces.

    A response that this version has parsed already is only counted, unless `again`: what was killed or cancelled goes
    on where it was. What is new is counted in its session's facets in the same transaction; where the profile is the
    session's home profile or `fencepost`, the session is folded anew. It parses in as many `processes` as there are
    processors, and `on_progress` hears after each chunk how many of how many responses are finished.
    Raises `UnknownProfile`, `NotInstalled`, `NoSuchSession`, `ParserDied`.
    """
    refuse_absent(parsing.profile(profile))
    scope = session_scope(engine, session) | filters_scope(filters)
    owner = claims.new_owner()
    try:
        with ExitStack() as lock:
            run = _begin(engine, settings, profile, scope, owner, lock)
            lock.callback(_end, engine, run.id, "interrupted")
            _go_through(engine, run, owner, processes or processors(), on_progress, settings, again)
    finally:
        end_killed(engine, settings)
    return run


def take_up(
    engine: sa.Engine, number: int, owner: str, on_progress: OnProgress, processes: int, settings: Settings
) -> None:
    """Do what nobody else does of a run that a page asked for; where `on_progress` raises, the rest waits.

    So does what a process had that parsed and died; a chunk over which one died again and again fails the run.
    """
    if (run := start(engine, number, settings)) is None:
        return
    try:
        _go_through(engine, run, owner, processes, on_progress, settings)
    except ParserDied as died:
        _log.warning("run %d continues with the chunks of a dead process: %s", number, died)
    except (parsing.UnknownProfile, run_chunks.KillsWorkers) as error:
        _log.error("run %d ends: %s", number, error)
        _end(engine, number, "failed")


def start(engine: sa.Engine, number: int, settings: Settings) -> Replay | None:
    """A run that goes on, cut into chunks where that was not done yet; None where it has ended."""
    query = sa.select(Run.profile, Run.scope, Run.state, Run.total).where(Run.id == number)
    with engine.connect() as connection:
        run = connection.execute(query).one()
    if run.state == "queued":
        total, chunks = _plan(engine, run.scope)
        values = {"state": "running", "started_at": datetime.now(UTC), "total": total}
        with writing(engine) as connection:
            queued = sa.update(Run).where(Run.id == number, Run.state == "queued")
            if connection.execute(queued.values(values)).rowcount:
                _insert_chunks(connection, number, chunks)
            run = connection.execute(query).one()
    is_running = run.state == "running"
    return Replay(number, run.profile, _version(run.profile), run.scope, run.total or 0) if is_running else None


def replay_chunk(engine: sa.Engine, number: int, low: int, owner: str, settings: Settings) -> bool:
    """Parse and store the chunk of a run that begins with the turn id `low`; False where somebody else has it.

    One that is stored already, or whose run has ended, is True: there is nothing left to do.
    """
    with engine.connect() as connection:
        running = sa.select(Run.profile, Run.scope).where(Run.id == number, Run.state == "running")
        run = connection.execute(running).first()
        state = connection.scalar(sa.select(RunChunk.state).where(RunChunk.run_id == number, RunChunk.low == low))
    if run is None or state in (None, "done"):
        return True
    try:
        chunk = run_chunks.claim(engine, number, owner, low)
        if chunk is None:
            return False
        with heartbeat.of_run(engine, number, owner), engine.connect() as connection:
            parsed = response_chunks.parse_chunk(connection, parsing.profile(run.profile), chunk)
            connection.rollback()
            chunk_writing.store(engine, number, run.profile, owner, parsed)
    except Cancelled:
        settle(engine, number)
    except (parsing.UnknownProfile, run_chunks.KillsWorkers) as error:
        _log.error("run %d ends: %s", number, error)
        _end(engine, number, "failed")
    finally:
        run_chunks.release(engine, number, owner)
    return True


def end_killed(engine: sa.Engine, settings: Settings) -> int:
    """Note that runs of commands were interrupted whose process ended, and count what ended runs left uncounted.

    Gives how many runs there were. One that a page asked for goes on with the next worker.
    """
    with engine.connect() as connection:
        chunks_left = sa.exists().where(RunChunk.run_id == Run.id)
        query = sa.select(Run.id, Run.state, Run.scope, claims.is_left(engine, Run.beat_at).label("silent"))
        rows = connection.execute(query.where(sa.or_(Run.state == "running", chunks_left))).all()
    ended = 0
    for row in rows:
        if row.state != "running":
            settle(engine, row.id)
            ended += 1
        elif not row.scope.get(QUEUED) and row.silent:
            with dump_files.alone(settings.data, _lock_name(row.id)) as is_free:
                ended += is_free and _end(engine, row.id, "interrupted")
    return ended


def settle(engine: sa.Engine, run_id: int) -> None:
    """Count what a run that has ended left uncounted, and forget its chunks."""
    with writing(engine) as connection:
        run_chunks.settle(connection, run_id)


def _version(profile: str) -> str:
    try:
        return parsing.profile(profile).version
    except parsing.UnknownProfile:
        return ""


def _lock_name(run_id: int) -> str:
    return f"run-{run_id}"


def _begin(
    engine: sa.Engine, settings: Settings, profile: str, scope: dict[str, Any], owner: str, lock: ExitStack
) -> Replay:
    """A run of this process alone that goes on from now; its `lock` is held before anybody can see it."""
    total, chunks = _plan(engine, scope)
    values = {"profile": profile, "scope": scope, "state": "running", "total": total, "owner": owner}
    with writing(engine) as connection:
        values |= {"started_at": datetime.now(UTC), "beat_at": clock.now()}
        run_id = connection.scalars(sa.insert(Run).values(values).returning(Run.id)).one()
        _insert_chunks(connection, run_id, chunks)
        lock.enter_context(dump_files.alone(settings.data, _lock_name(run_id)))
    return Replay(run_id, profile, _version(profile), scope, total)


def _plan(engine: sa.Engine, scope: dict[str, Any]) -> tuple[int, list[Chunk]]:
    """How many responses a scope has as it is now, and the chunks of them."""
    ids = session_ids(engine, scope)
    with engine.connect() as connection:
        return response_chunks.total(connection, ids), response_chunks.plan(connection, ids)


def _insert_chunks(connection: sa.Connection, run_id: int, chunks: list[Chunk]) -> None:
    """A run without any is done at once."""
    run_chunks.insert(connection, run_id, chunks)
    if not chunks:
        chunk_writing.advance(connection, run_id, {})


def _go_through(
    engine: sa.Engine,
    run: Replay,
    owner: str,
    processes: int,
    on_progress: OnProgress,
    settings: Settings,
    again: bool = False,
) -> None:
    parser = parsing.profile(run.profile)
    chunks = (replace(chunk, again=again) for chunk in run_chunks.claimed(engine, run.id, owner))
    processes = processes if run.total > processes * response_chunks.AT_ONCE else 1
    killed = False
    try:
        with (
            heartbeat.of_run(engine, run.id, owner),
            closing(response_chunks.parsed_chunks(engine, parser, chunks, processes)) as parsed_chunks,
        ):
            for parsed in parsed_chunks:
                if chunk_writing.store(engine, run.id, run.profile, owner, parsed):
                    _count(run, parsed)
                on_progress(run.counts["responses"], run.total)
    except Cancelled:
        settle(engine, run.id)
    except BrokenProcessPool:
        killed = True
        raise ParserDied(f"a process that ran {run.profile} died") from None
    finally:
        run_chunks.release(engine, run.id, owner, killed=killed)
    with engine.connect() as connection:
        run.state = connection.scalars(sa.select(Run.state).where(Run.id == run.id)).one()


def _count(run: Replay, parsed: ParsedChunk) -> None:
    for name, count in parsed.counts.items():
        run.counts[name] += count
    run.new += len(parsed.parses)


def _end(engine: sa.Engine, run_id: int, state: str) -> bool:
    """Note how a running run ended and count what it left uncounted; False where it has ended before."""
    with writing(engine) as connection:
        running = sa.update(Run).where(Run.id == run_id, Run.state == "running")
        if not connection.execute(running.values(state=state, finished_at=datetime.now(UTC))).rowcount:
            return False
    settle(engine, run_id)
    return True

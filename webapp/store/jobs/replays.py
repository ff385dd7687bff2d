"""Replays: a profile over stored responses, asked for by a page or a command; what it lacks is parsed and counted.

A replay's `about` has `profile`, `filters` or `session_id` where it is not for everything, and `again` where also what
this version has parsed is to be parsed. Its `progress` has `finished` of `total` responses and their `counts` by
verdict. Its `result` has the `counts`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.config import Settings
from webapp.parsing.installing import refuse_absent
from webapp.store import derive, tasks
from webapp.store.db.database import writing, writing_long
from webapp.store.ingest.result import Stopped
from webapp.store.jobs import replay_pieces
from webapp.store.jobs.replay_pieces import COUNTED, ParsedPiece
from webapp.store.models import TURNS_A_SESSION, Parse, ParseRepair, Session, Task, turns_of
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import Filters, of_parameters
from webapp.store.tasks import REPLAY, TaskFailed, TaskLine
from webapp.store.write import rows

OnProgress = Callable[[int, int], None]
MOST_SHOWN = 20
_LOOKED_AT = 500


class ParserDied(TaskFailed):
    """A process that parses died, as when the profile's own code ended it; what was stored before stays."""


@dataclass(slots=True)
class Replay:
    """What a command's replay did: `counts` has responses, each verdict, rescued; `new` were not parsed before.

    `state` is running, done or cancelled.
    """

    id: int
    profile: str
    version: str
    scope: dict[str, Any]
    total: int = 0
    state: str = "running"
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    new: int = 0


def queue(engine: sa.Engine, profile: str, filters: Filters | None = None) -> int:
    """Ask for a replay of the sessions under `filters`; its number. One that waits already is that one.

    Raises `UnknownProfile`, and `NotInstalled` where the profile's library is absent.
    """
    refuse_absent(parsing.profile(profile))
    about = {"profile": profile, **_filters_scope(filters)}
    with writing(engine) as connection:
        waiting = sa.select(Task.id, Task.about).where(Task.kind == REPLAY, Task.state == "queued")
        same = [row.id for row in connection.execute(waiting) if row.about == about]
        return same[0] if same else tasks.insert(connection, REPLAY, about)


def _filters_scope(filters: Filters | None) -> dict[str, Any]:
    active = filters.active() if filters is not None else {}
    return {"filters": active} if active else {}


def cancel(engine: sa.Engine, number: int) -> None:
    """Have a replay stop soon; what it stored stays, counted."""
    with writing(engine) as connection:
        tasks.cancel(connection, number, "Cancelled. What was parsed by then stays, counted.")


def recent(connection: sa.Connection, profile: str) -> list[TaskLine]:
    """The last replays of a profile, the newest first."""
    lines = tasks.page(connection, REPLAY, limit=_LOOKED_AT)
    return [line for line in lines if line.about["profile"] == profile][:MOST_SHOWN]


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
    on where it was. It parses in as many `processes` as there are processors; `on_progress` hears how many of how many
    responses are finished. Raises `UnknownProfile`, `NotInstalled`, `NoSuchSession`, `ParserDied`.
    """
    parser = parsing.profile(profile)
    refuse_absent(parser)
    scope = _session_scope(engine, session) | _filters_scope(filters)
    with tasks.done_here(
        engine, settings, REPLAY, {"profile": profile, **scope, **({"again": True} if again else {})}
    ) as task:
        run = Replay(task.id, profile, parser.version, scope)
        try:
            _go_through(engine, task, run, processes or processors(), lambda: None, on_progress)
            run.state = "done"
            tasks.end(engine, task.id, "done", {"counts": run.counts})
        except Stopped:
            run.state = "cancelled"
        except ParserDied as died:
            tasks.end(engine, task.id, "failed", {"error": died.error})
            raise
    return run


def forget(engine: sa.Engine, profile: str) -> None:
    """Remove the traces of a profile that is gone, and what was made of them, session by session."""
    with engine.connect() as connection:
        turn_ids = connection.scalars(sa.select(Parse.turn_id).where(Parse.profile == profile))
        session_ids = sorted({turn_id // TURNS_A_SESSION for turn_id in turn_ids})
    for session_id in session_ids:
        with writing_long(engine) as connection:
            for table in (Parse, ParseRepair):
                mine = turns_of(table.turn_id, session_id)
                connection.execute(sa.delete(table).where(mine, table.profile == profile))
            derive.derive(connection, [session_id])


def work(
    engine: sa.Engine, task: TaskLine, *, between: Callable[[], None], processes: int | None = None
) -> dict[str, Any]:
    """Do what a replay lacks; its result. `between` is called between two pieces, and may raise."""
    parser = parsing.profile(task.about["profile"])
    refuse_absent(parser)
    run = Replay(task.id, parser.name, parser.version, {})
    _go_through(engine, task, run, processes or processors(), between, lambda *_: None)
    return {"counts": run.counts}


def _session_scope(engine: sa.Engine, session: str | None) -> dict[str, Any]:
    if session is None:
        return {}
    with orm.Session(engine) as db:
        return {"session_id": sessions.find(db, session).id}


def _session_ids(engine: sa.Engine, about: dict[str, Any]) -> set[int] | None:
    """The sessions that it is for, as they are now; None for all."""
    if "session_id" in about:
        return {about["session_id"]}
    if (active := about.get("filters")) is None:
        return None
    filters = of_parameters({name: str(value) for name, value in active.items()})
    with orm.Session(engine) as db:
        return set(db.scalars(sessions.view(db, filters).ids()))


def _go_through(
    engine: sa.Engine,
    task: TaskLine,
    run: Replay,
    processes: int,
    between: Callable[[], None],
    on_progress: OnProgress,
) -> None:
    """Raises `Stopped` where the task was cancelled, and what `between` and `on_progress` raise."""
    parser = parsing.profile(run.profile)
    ids = _session_ids(engine, task.about)
    with engine.connect() as connection:
        run.total, pieces = replay_pieces.plan(connection, ids)
    if task.about.get("again"):
        pieces = [replace(piece, again=True) for piece in pieces]
    processes = processes if run.total > processes * replay_pieces.AT_ONCE else 1
    stale = set[int]()
    try:
        with closing(replay_pieces.parsed(engine, parser, pieces, processes)) as parsed_pieces:
            for parsed in parsed_pieces:
                stale |= _store(engine, task.id, run, parsed)
                if not parsed.piece.goes_on:
                    _settle(engine, stale)
                on_progress(run.counts["responses"], run.total)
                between()
    except replay_pieces.ProcessDied:
        raise ParserDied("parser_died", f"a process that ran {run.profile} died") from None
    finally:
        _settle(engine, stale)


def _settle(engine: sa.Engine, stale: set[int]) -> None:
    while stale:
        derive.settle(engine, stale.pop())


def _store(engine: sa.Engine, number: int, run: Replay, parsed: ParsedPiece) -> set[int]:
    """Keep a piece's traces, derive its sessions and note how far the replay is, in one transaction.

    Gives the session that is left stale, where the piece is a part of one.
    """
    with writing_long(engine) as connection:
        changed = _keep(connection, run.profile, parsed)
        is_part = parsed.piece.is_part
        (derive.mark_stale if is_part else derive.derive)(connection, changed)
        counts = {name: count + parsed.counts[name] for name, count in run.counts.items()}
        progress = {"finished": counts["responses"], "total": run.total, "counts": counts}
        if not tasks.note(connection, number, progress):
            raise Stopped(True)
    run.counts = counts
    run.new += len(parsed.parses)
    return changed if is_part else set()


def _keep(connection: sa.Connection, profile: str, parsed: ParsedPiece) -> set[int]:
    """Store what was parsed anew, of sessions that are still there; the numbers of those."""
    ids = {row["turn_id"] // TURNS_A_SESSION for row in parsed.parses}
    query = sa.select(Session.id).where(Session.id.in_(ids)).order_by(Session.id)
    there = set(connection.scalars(query.with_for_update(key_share=True))) if ids else set()
    kept_parses, kept_repairs = (
        [row for row in batch if row["turn_id"] // TURNS_A_SESSION in there]
        for batch in (parsed.parses, parsed.repairs)
    )
    turn_ids = [row["turn_id"] for row in kept_parses]
    for table in (Parse, ParseRepair):
        connection.execute(sa.delete(table).where(table.turn_id.in_(turn_ids), table.profile == profile))
    rows.insert(connection, rows.parses, kept_parses)
    rows.insert(connection, rows.repairs, kept_repairs)
    return there


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

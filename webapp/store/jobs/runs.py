"""Runs: a profile over many stored responses, its parses stored and its results counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.config import Settings
from webapp.parsing.installing import refuse_absent
from webapp.store.db.database import writing
from webapp.store.db.dialect import change
from webapp.store.index.bit_sliced_index import slots_of
from webapp.store.ingest import dump_files
from webapp.store.ingest.helper_process import processors
from webapp.store.jobs import response_chunks
from webapp.store.jobs.response_chunks import COUNTED, ParsedChunk
from webapp.store.jobs.run_queue import QUEUED, filters_of, filters_scope
from webapp.store.models import TURNS_A_SESSION, Parse, ParseRepair, Run, Session
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import Filters
from webapp.store.write import derived, facets, regrouping, rows
from webapp.store.write.parser import OURS

_UNCOUNTED = "uncounted"
"""the part of a run's scope that names the session whose parses were stored and not counted yet"""
_sessions: sa.Table = Session.__table__  # type: ignore[assignment]
_set_facets = (
    sa.update(_sessions)
    .where(_sessions.c.id == sa.bindparam("session"))
    .values(facets=sa.bindparam("counted", type_=_sessions.c.facets.type), changed=change())
)

OnProgress = Callable[[int, int], None]


class Cancelled(Exception):
    """The run was cancelled; what it stored before is counted."""


class ParserDied(RuntimeError):
    """A process that parses died, as when the profile's own code ended it; what was stored before stays."""


@dataclass(slots=True)
class Replay:
    """A run: `counts` holds responses, each verdict, rescued; `new` of them were parsed, the others had been before.

    `state` is running, done, cancelled, failed, interrupted where its process ended before it did, or queued where a
    page asked for it and it goes on later.
    """

    id: int
    profile: str
    version: str
    scope: dict[str, Any]
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
    on_progress: OnProgress = lambda *_: None,
) -> Replay:
    """Parse every stored response (or one session's, or those under `filters`) with `profile` and keep the traces.

    A response that this version has parsed already is only counted: what was killed or cancelled goes on where it
    was. What is new is counted in its session's facets in the same transaction; where the profile is the session's
    home profile or `fencepost`, the session is folded anew. It parses in as many `processes` as there are processors,
    and `on_progress` hears after each chunk how many of how many responses are finished.
    Raises `UnknownProfile`, `NotInstalled`, `NoSuchSession`, `ParserDied`.
    """
    refuse_absent(parsing.profile(profile))
    scope = _session_scope(engine, session) | filters_scope(filters)
    try:
        with ExitStack() as lock:
            run = _begin(engine, settings, profile, scope, lock)
            _go_through(engine, run, processes or processors(), on_progress)
    finally:
        end_killed(engine, settings)
    return run


def take_up(engine: sa.Engine, settings: Settings, number: int, on_progress: OnProgress, processes: int) -> None:
    """Do a run that was queued; where `on_progress` raises, it is queued again."""
    with engine.connect() as connection:
        row = connection.execute(sa.select(Run.profile, Run.scope).where(Run.id == number)).one()
    with dump_files.alone(settings.data, _lock_name(number)) as is_free:
        if not is_free:
            return
        with writing(engine) as connection:
            values = {"state": "running", "started_at": datetime.now(UTC)}
            connection.execute(sa.update(Run).where(Run.id == number, Run.state == "queued").values(values))
        run = Replay(number, row.profile, _version(row.profile), row.scope)
        try:
            _go_through(engine, run, processes, on_progress)
        except (parsing.UnknownProfile, ParserDied):
            _end(engine, number, "failed")
        finally:
            _end(engine, number, "queued")


def end_killed(engine: sa.Engine, settings: Settings) -> int:
    """Count what runs left uncounted whose process ended, and note that they were interrupted; how many there were.

    One that a page asked for is queued again.
    """
    with engine.connect() as connection:
        query = sa.select(Run.id, Run.state, Run.scope).where(Run.state.in_(("running", "cancelled")))
        unfinished = [row for row in connection.execute(query) if row.state == "running" or _UNCOUNTED in row.scope]
    return sum(_end_killed(engine, settings, row) for row in unfinished)


def _version(profile: str) -> str:
    try:
        return parsing.profile(profile).version
    except parsing.UnknownProfile:
        return ""


def _end_killed(engine: sa.Engine, settings: Settings, run: sa.Row[Any]) -> bool:
    with dump_files.alone(settings.data, _lock_name(run.id)) as is_free:
        if is_free and run.state == "cancelled":
            _recount_cancelled(engine, run.id)
            return True
        return is_free and _end(engine, run.id, "queued" if run.scope.get(QUEUED) else "interrupted")


def _lock_name(run_id: int) -> str:
    return f"run-{run_id}"


def _session_scope(engine: sa.Engine, session: str | None) -> dict[str, Any]:
    if session is None:
        return {}
    with orm.Session(engine) as db:
        return {"session_id": sessions.find(db, session).id}


def _begin(engine: sa.Engine, settings: Settings, profile: str, scope: dict[str, Any], lock: ExitStack) -> Replay:
    """A run that goes on from now; its `lock` is held before anybody can see it."""
    with writing(engine) as connection:
        values = {"profile": profile, "scope": scope, "state": "running", "started_at": datetime.now(UTC)}
        run_id = connection.scalars(sa.insert(Run).values(values).returning(Run.id)).one()
        lock.enter_context(dump_files.alone(settings.data, _lock_name(run_id)))
    return Replay(run_id, profile, _version(profile), scope)


def _go_through(engine: sa.Engine, run: Replay, processes: int, on_progress: OnProgress) -> None:
    parser = parsing.profile(run.profile)
    ids = _session_ids(engine, run.scope)
    with engine.connect() as connection:
        total = response_chunks.total(connection, ids)
        chunks = response_chunks.plan(connection, ids)
    try:
        with closing(response_chunks.parsed_chunks(engine, parser, chunks, processes)) as parsed_chunks:
            for parsed in parsed_chunks:
                _store(engine, run, parsed, total)
                on_progress(run.counts["responses"], total)
    except Cancelled:
        run.state = "cancelled"
        _recount_cancelled(engine, run.id)
        return
    except BrokenProcessPool:
        raise ParserDied(f"a process that ran {run.profile} died") from None
    _end(engine, run.id, "done", run.counts)
    run.state = "done"


def _session_ids(engine: sa.Engine, scope: dict[str, Any]) -> set[int] | None:
    """The sessions of a scope as it is now; None for all."""
    if "session_id" in scope:
        return {scope["session_id"]}
    filters = filters_of(scope)
    if filters is None:
        return None
    with orm.Session(engine) as db:
        narrowed = sessions.narrowed(db, filters)
        ids = narrowed.state.numbers["id"].values
        return {ids[slot] for slot in slots_of(narrowed.view)}


def _store(engine: sa.Engine, run: Replay, parsed: ParsedChunk, total: int) -> None:
    """Keep a chunk's traces, count them, and note how far the run is, in one transaction."""
    for name, count in parsed.counts.items():
        run.counts[name] += count
    run.new += len(parsed.parses)
    with writing(engine) as connection:
        query = sa.select(Run.scope).where(Run.id == run.id, Run.state == "running").with_for_update()
        scope = connection.scalars(query).one_or_none()
        if scope is None:
            raise Cancelled
        uncounted = _uncounted(scope)
        folded = _keep(connection, run.profile, parsed)
        goes_on = None if parsed.chunk.ends else parsed.chunk.session_ids[0]
        unfinished_ids = {goes_on} & (folded | uncounted)
        _refold(connection, (folded | uncounted) - unfinished_ids)
        scope = _without_uncounted(scope) | ({_UNCOUNTED: goes_on} if unfinished_ids else {})
        progress = run.counts["responses"] / max(1, total)
        values = {"scope": scope, "progress": progress, "counts": run.counts}
        connection.execute(sa.update(Run).where(Run.id == run.id).values(values))


def _keep(connection: sa.Connection, profile: str, parsed: ParsedChunk) -> set[int]:
    """Store what was parsed anew and count it; the sessions that have to be folded anew for it."""
    locked_sessions = _locked(connection, parsed.added)
    kept_parses = [row for row in parsed.parses if row[0] // TURNS_A_SESSION in locked_sessions]
    versions = _replaced(connection, profile, [row[0] for row in kept_parses])
    rows.insert_values(connection, rows.parses, rows.PARSE, kept_parses)
    kept_repairs = [row for row in parsed.repairs if row[0] // TURNS_A_SESSION in locked_sessions]
    rows.insert_values(connection, rows.repairs, rows.REPAIR, kept_repairs)
    if profile == OURS:
        regrouping.regroup(connection, [row[0] for row in kept_parses])
    overtaken = {turn // TURNS_A_SESSION for turn, _ in versions.items() ^ parsed.versions.items()}
    folded = {
        row.id
        for row in locked_sessions.values()
        if profile in (row.home_profile, OURS) or row.facets is None or row.id in overtaken
    }
    counted = [
        {
            "session": number,
            "counted": facets.recounted(row.facets, profile, parsed.removed.get(number, ()), parsed.added[number]),
        }
        for number, row in locked_sessions.items()
        if number not in folded
    ]
    if counted:
        connection.execute(_set_facets, counted)
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


def _end(engine: sa.Engine, run_id: int, state: str, counts: dict[str, int] | None = None) -> bool:
    """Count what is not counted yet and note how a running run ended; False where it has ended before."""
    with writing(engine) as connection:
        query = sa.select(Run.scope).where(Run.id == run_id, Run.state == "running")
        scope = connection.scalars(query.with_for_update()).one_or_none()
        if scope is None:
            return False
        _refold(connection, _uncounted(scope))
        values: dict[str, Any] = {"state": state, "scope": _without_uncounted(scope)}
        values |= {"finished_at": datetime.now(UTC)} if state != "queued" else {}
        values |= {"progress": 1.0, "counts": counts} if counts else {}
        connection.execute(sa.update(Run).where(Run.id == run_id).values(values))
    return True


def _recount_cancelled(engine: sa.Engine, run_id: int) -> None:
    with writing(engine) as connection:
        scope = connection.scalars(sa.select(Run.scope).where(Run.id == run_id)).one()
        _refold(connection, _uncounted(scope))
        connection.execute(sa.update(Run).where(Run.id == run_id).values(scope=_without_uncounted(scope)))


def _uncounted(scope: dict[str, Any]) -> set[int]:
    return {scope[_UNCOUNTED]} if _UNCOUNTED in scope else set()


def _without_uncounted(scope: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in scope.items() if name != _UNCOUNTED}


def _refold(connection: sa.Connection, session_ids: Iterable[int]) -> None:
    for session_id in sorted(session_ids):
        derived.refold(connection, session_id)

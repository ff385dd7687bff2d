"""Replays: a profile over stored responses, asked for by a page or a command; what it lacks is parsed and counted.

A replay's `about` has `profile`, `filters` or `session_id` where it is not for everything, and `again` where also what
this version has parsed is to be parsed. Its `progress` has `finished` of `total` responses and their `counts` by
verdict. Its `result` has the `counts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.config import Settings
from webapp.parsing.engine import refuse_absent
from webapp.store import derive, tasks
from webapp.store.db.database import writing, writing_long
from webapp.store.db.types import PackedText
from webapp.store.ingest.result import Stopped
from webapp.store.models import TURNS_A_SESSION, Parse, Session, Task, Turn, is_response, turns_of
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import Filters, of_parameters
from webapp.store.tasks import REPLAY
from webapp.store.write import rows
from webapp.store.write.tally import READABLE

OnProgress = Callable[[int, int], None]
MOST_SHOWN = 20
AT_ONCE = 500
"""responses that are parsed, and written, together"""
COUNTED = ("responses", "clean", "extracted", "repaired", "failed", "none", "rescued")
_LOOKED_AT = 500
_ROWS = 50

_mine, _home = orm.aliased(Parse), orm.aliased(Parse)
_is_new = sa.or_(_mine.version.is_(None), _mine.version != sa.bindparam("version"))
_responses = (
    sa.select(
        *(Turn.id, Turn.session_id, _is_new.label("is_new"), _mine.verdict),
        sa.type_coerce(sa.case((_is_new, Turn.raw), else_=sa.null()), PackedText).label("raw"),
        sa.or_(_home.verdict == "failed", Turn.recorded_failure.is_not(None)).label("failed"),
    )
    .join(Session, Session.id == Turn.session_id)
    .outerjoin(_mine, sa.and_(_mine.turn_id == Turn.id, _mine.profile == sa.bindparam("profile")))
    .outerjoin(_home, sa.and_(_home.turn_id == Turn.id, _home.profile == Session.home_profile))
    .where(Turn.session_id.in_(sa.bindparam("sessions", expanding=True)), Turn.id > sa.bindparam("after"), is_response)
    .order_by(Turn.id)
).execution_options(yield_per=_ROWS)


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
        waiting = tasks.page(connection, REPLAY, live=True, limit=_LOOKED_AT)
        same = [task.id for task in waiting if task.state == "queued" and task.about == about]
        return same[0] if same else tasks.insert(connection, REPLAY, about)


def _filters_scope(filters: Filters | None) -> dict[str, Any]:
    active = filters.active() if filters is not None else {}
    return {"filters": active} if active else {}


def recent(connection: sa.Connection, profile: str) -> list[Task]:
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
    again: bool = False,
    on_progress: OnProgress = lambda *_: None,
) -> Replay:
    """Parse every stored response (or one session's, or those under `filters`) with `profile` and keep the traces.

    A response that this version has parsed already is only counted, unless `again`: what was killed or cancelled goes
    on where it was. `on_progress` hears how many of how many responses are finished. Raises `UnknownProfile`,
    `NotInstalled`, `NoSuchSession`.
    """
    parser = parsing.profile(profile)
    refuse_absent(parser)
    scope = _session_scope(engine, session) | _filters_scope(filters)
    about = {"profile": profile, **scope, **({"again": True} if again else {})}
    with tasks.done_here(engine, settings, REPLAY, about) as task:
        run = Replay(task.id, profile, parser.version, scope)
        try:
            _go_through(engine, task, run, lambda: None, on_progress)
            run.state = "done"
            tasks.end(engine, task.id, "done", {"counts": run.counts})
        except Stopped:
            run.state = "cancelled"
    return run


def forget(engine: sa.Engine, profile: str) -> None:
    """Remove the traces of a profile that is gone, and what was made of them, session by session."""
    with engine.connect() as connection:
        turn_ids = connection.scalars(sa.select(Parse.turn_id).where(Parse.profile == profile))
        session_ids = sorted({turn_id // TURNS_A_SESSION for turn_id in turn_ids})
    for session_id in session_ids:
        with writing_long(engine) as connection:
            mine = turns_of(Parse.turn_id, session_id)
            connection.execute(sa.delete(Parse).where(mine, Parse.profile == profile))
            derive.derive(connection, [session_id])


def work(engine: sa.Engine, task: Task, *, between: Callable[[], None]) -> dict[str, Any]:
    """Do what a replay lacks; its result. `between` is called between two pieces, and may raise."""
    parser = parsing.profile(task.about["profile"])
    refuse_absent(parser)
    run = Replay(task.id, parser.name, parser.version, {})
    _go_through(engine, task, run, between, lambda *_: None)
    return {"counts": run.counts}


def _session_scope(engine: sa.Engine, session: str | None) -> dict[str, Any]:
    if session is None:
        return {}
    with orm.Session(engine) as db:
        return {"session_id": sessions.find(db, session).id}


def _sessions(engine: sa.Engine, about: dict[str, Any]) -> list[tuple[int, int]]:
    """The sessions that it is for, as they are now, and how many responses each has, in the order of their numbers."""
    query = sa.select(Session.id, Session.response_count).order_by(Session.id)
    with orm.Session(engine) as db:
        if "session_id" in about:
            query = query.where(Session.id == about["session_id"])
        elif (active := about.get("filters")) is not None:
            filters = of_parameters({name: str(value) for name, value in active.items()})
            query = query.where(Session.id.in_(sessions.view(db, filters).ids()))
        return [(row.id, row.response_count) for row in db.execute(query)]


def _together(counted: list[tuple[int, int]]) -> Iterator[list[int]]:
    """Sessions with fewer than `AT_ONCE` responses, which are one piece, or a longer one by itself."""
    group, size = list[int](), 0
    for number, responses in counted:
        if group and size + responses >= AT_ONCE:
            yield group
            group, size = [], 0
        group.append(number)
        size += responses
    if group:
        yield group


def _go_through(
    engine: sa.Engine, task: Task, run: Replay, between: Callable[[], None], on_progress: OnProgress
) -> None:
    """Raises `Stopped` where the task was cancelled, and what `between` and `on_progress` raise."""
    counted = _sessions(engine, task.about)
    run.total = sum(responses for _, responses in counted)
    again = bool(task.about.get("again"))
    for group in _together(counted):
        after: int | None = -1
        try:
            while after is not None:
                is_first = after == -1
                counts, parses, after = _parsed(engine, run.profile, group, after, again=again)
                _store(engine, task.id, run, counts, parses, is_whole=is_first and after is None)
                on_progress(run.counts["responses"], run.total)
                between()
        finally:
            with engine.connect() as connection:  # also those that a killed one left
                stale = connection.scalars(sa.select(Session.id).where(Session.id.in_(group), Session.stale)).all()
            for session_id in stale:
                derive.settle(engine, session_id)


def _parsed(
    engine: sa.Engine, profile: str, group: list[int], after: int, *, again: bool
) -> tuple[dict[str, int], list[rows.Row], int | None]:
    """Parse what this version of the profile has not parsed of the next responses of these sessions: their counts, rows
    of those that were parsed now, and the turn to go on behind."""
    counts, parses, parser = dict.fromkeys(COUNTED, 0), list[rows.Row](), parsing.profile(profile)
    about = {"profile": profile, "version": "" if again else parser.version, "sessions": group, "after": after}
    with engine.connect() as connection:
        for row in connection.execute(_responses.limit(AT_ONCE), about):
            verdict = row.verdict
            if row.is_new:
                trace = parsing.parse(row.raw, parser)
                verdict = trace.verdict
                parses.append(rows.parse_row(row.id, trace))
            counts["responses"] += 1
            counts[verdict] += 1
            counts["rescued"] += bool(row.failed) and verdict in READABLE
            after = row.id
    return counts, parses, after if counts["responses"] == AT_ONCE else None


def _store(
    engine: sa.Engine, number: int, run: Replay, counts: dict[str, int], parses: list[rows.Row], *, is_whole: bool
) -> None:
    """Keep traces, have their sessions derived, now or later, and note how far the replay is, in one transaction."""
    with writing_long(engine) as connection:
        changed = _keep(connection, run.profile, parses)
        (derive.derive if is_whole else derive.mark_stale)(connection, changed)
        so_far = {name: count + counts[name] for name, count in run.counts.items()}
        progress = {"finished": so_far["responses"], "total": run.total, "counts": so_far}
        if not tasks.note(connection, number, progress):
            raise Stopped(True)
    run.counts = so_far
    run.new += len(parses)


def _keep(connection: sa.Connection, profile: str, parses: list[rows.Row]) -> set[int]:
    """Store what was parsed now, of sessions that are still there; the numbers of those."""
    ids = {row["turn_id"] // TURNS_A_SESSION for row in parses}
    query = sa.select(Session.id).where(Session.id.in_(ids)).order_by(Session.id)
    present = set(connection.scalars(query.with_for_update(key_share=True))) if ids else set()
    kept_parses = [row for row in parses if row["turn_id"] // TURNS_A_SESSION in present]
    turn_ids = [row["turn_id"] for row in kept_parses]
    connection.execute(sa.delete(Parse).where(Parse.turn_id.in_(turn_ids), Parse.profile == profile))
    if kept_parses:
        connection.execute(sa.insert(rows.parses), kept_parses)
    return present

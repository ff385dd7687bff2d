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
from webapp.store.db.ids import batched
from webapp.store.ingest.result import Stopped
from webapp.store.models import TURNS_A_SESSION, Parse, Session, Task, Turn, is_response
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import Filters, of_parameters
from webapp.store.tasks import REPLAY
from webapp.store.write import rows
from webapp.store.write.tally import READABLE

OnProgress = Callable[[int, int], None]
MOST_SHOWN = 20
AT_ONCE = 500
"""responses of sessions that are parsed, and derived, together"""
COUNTED = ("responses", "clean", "extracted", "repaired", "failed", "none", "rescued")
_LOOKED_AT = 500

_mine, _home = orm.aliased(Parse), orm.aliased(Parse)
_is_failed = sa.func.coalesce(sa.or_(_home.verdict == "failed", Turn.recorded_failure.is_not(None)), sa.false())
_responses = (
    sa.select(sa.func.count().label("responses"))
    .select_from(Turn)
    .join(Session, Session.id == Turn.session_id)
    .outerjoin(_mine, sa.and_(_mine.turn_id == Turn.id, _mine.profile == sa.bindparam("profile")))
    .outerjoin(_home, sa.and_(_home.turn_id == Turn.id, _home.profile == Session.home_profile))
    .where(Turn.session_id.in_(sa.bindparam("sessions", expanding=True)), is_response)
)
_is_new = sa.or_(_mine.version.is_(None), _mine.version != sa.bindparam("version"))
_find_new = _responses.add_columns(Turn.session_id).where(_is_new).group_by(Turn.session_id)
_verdicts = _responses.add_columns(_mine.verdict, _is_failed.label("failed")).group_by(_mine.verdict, _is_failed)


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
    """Remove the traces of a profile that is gone, and what was made of them."""
    with engine.connect() as connection:
        turn_ids = connection.scalars(sa.select(Parse.turn_id).where(Parse.profile == profile))
        session_ids = sorted({turn_id // TURNS_A_SESSION for turn_id in turn_ids})
    for some in batched(session_ids):
        with writing_long(engine) as connection:
            rows.forget_parses(connection, some, profile)
            derive.mark_stale(connection, some)
        derive.settle(engine, some)


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
    finished = 0

    def go_on(count: int) -> None:
        nonlocal finished
        finished += count
        progress = {"finished": finished, "total": run.total, "counts": run.counts}
        with writing(engine) as connection:
            if not tasks.note(connection, task.id, progress):
                raise Stopped(True)
        on_progress(finished, run.total)
        between()

    for group in _together(counted):
        _parse(engine, run, group, go_on, again=bool(task.about.get("again")))
        with engine.connect() as connection:
            for row in connection.execute(_verdicts, {"profile": run.profile, "sessions": group}):
                if row.verdict is not None:
                    run.counts["responses"] += row.responses
                    run.counts[row.verdict] += row.responses
                    run.counts["rescued"] += row.responses if row.failed and row.verdict in READABLE else 0
        go_on(run.counts["responses"] - finished)


def _parse(engine: sa.Engine, run: Replay, group: list[int], on_kept: Callable[[int], None], *, again: bool) -> None:
    """Derive those of these sessions in which this version of the profile has not parsed all, with what it makes of
    that; also where `on_kept` raises, with what it has made by then."""
    about: dict[str, Any] = {"profile": run.profile, "version": "" if again else run.version, "sessions": group}
    with writing_long(engine) as connection:
        new = {row.session_id: row.responses for row in connection.execute(_find_new, about)}
        if new:
            rows.forget_parses(connection, list(new), run.profile, about["version"])
            derive.mark_stale(connection, new)
    run.new += sum(new.values())
    try:
        derive.settle(engine, new, parsing.profile(run.profile), on_kept)
    finally:
        with engine.connect() as connection:  # also those that a killed one left
            stale = connection.scalars(sa.select(Session.id).where(Session.id.in_(group), Session.stale)).all()
        derive.settle(engine, stale)

"""Runs that wait behind the pages: asked for, taken up by the worker, watched, cancelled; and the sessions of each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing.installing import refuse_absent
from webapp.store.db.database import writing
from webapp.store.jobs import run_chunks
from webapp.store.models import Run
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import Filters, of_parameters

LIVE = ("queued", "running")
QUEUED = "queued"
"""the part of a run's scope that says that a page asked for it: its worker's death does not end it"""
MOST_SHOWN = 20


class NoSuchRun(LookupError):
    """No run has that number."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run. `state` is queued, running, done, cancelled, failed, or interrupted where its process was killed.

    `progress` goes from 0 to 1; `counts` holds responses so far, each verdict and rescued, {} before the first.
    """

    id: int
    profile: str
    filters: dict[str, Any]
    state: str
    progress: float
    counts: dict[str, int]
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def live(self) -> bool:
        return self.state in LIVE


def queue(engine: sa.Engine, profile: str, filters: Filters | None = None) -> int:
    """Ask for a run over the sessions under `filters`; its number. One that is asked for already is that one.

    Raises `UnknownProfile`, and `NotInstalled` where the profile's library is absent.
    """
    refuse_absent(parsing.profile(profile))
    scope = {QUEUED: True, **filters_scope(filters)}
    with writing(engine) as connection:
        same = sa.and_(Run.state == "queued", Run.profile == profile)
        for row in connection.execute(sa.select(Run.id, Run.scope).where(same)):
            if row.scope == scope:
                return int(row.id)
        values = {"profile": profile, "scope": scope, "state": "queued"}
        return connection.scalars(sa.insert(Run).values(values).returning(Run.id)).one()


def filters_scope(filters: Filters | None) -> dict[str, Any]:
    """Filters as a run's scope keeps them."""
    active = filters.active() if filters is not None else {}
    return {"filters": active} if active else {}


def session_scope(engine: sa.Engine, session: str | None) -> dict[str, Any]:
    """The scope of one session, by its key; empty for None. Raises `NoSuchSession`."""
    if session is None:
        return {}
    with orm.Session(engine) as db:
        return {"session_id": sessions.find(db, session).id}


def session_ids(engine: sa.Engine, scope: dict[str, Any]) -> set[int] | None:
    """The sessions of a scope as it is now; None for all."""
    if "session_id" in scope:
        return {scope["session_id"]}
    if (active := scope.get("filters")) is None:
        return None
    filters = of_parameters({name: str(value) for name, value in active.items()})
    with orm.Session(engine) as db:
        return set(db.scalars(sessions.view(db, filters).ids()))


def next_free(engine: sa.Engine) -> int | None:
    """The first run that a page asked for and of which there is something that no worker has."""
    with engine.connect() as connection:
        for row in connection.execute(_live).all():
            is_running = row.state == "running" and row.scope.get(QUEUED)
            if row.state == "queued" or (is_running and run_chunks.are_free(engine, connection, row.id)):
                return int(row.id)
    return None


def are_waiting(connection: sa.Connection) -> bool:
    """Whether there are runs that a page asked for and that have not ended."""
    return any(row.state == "queued" or row.scope.get(QUEUED) for row in connection.execute(_live))


def cancel(engine: sa.Engine, number: int) -> None:
    """Have a run stop at its next chunk; what it stored stays, counted."""
    with writing(engine) as connection:
        live = sa.and_(Run.id == number, Run.state.in_(LIVE))
        connection.execute(sa.update(Run).where(live).values(state="cancelled", finished_at=datetime.now(UTC)))


def find(connection: sa.Connection, number: int) -> RunLine:
    """Raises `NoSuchRun`."""
    row = connection.execute(_query.where(Run.id == number)).first()
    if row is None:
        raise NoSuchRun(f"no run has the number {number}")
    return _line(row)


def recent(connection: sa.Connection, profile: str | None = None) -> list[RunLine]:
    """The last runs, of one profile or of all, the newest first."""
    query = _query if profile is None else _query.where(Run.profile == profile)
    return [_line(row) for row in connection.execute(query.order_by(Run.id.desc()).limit(MOST_SHOWN))]


_query = sa.select(Run.__table__)
_live = sa.select(Run.id, Run.state, Run.scope).where(Run.state.in_(LIVE)).order_by(Run.id)


def _line(row: sa.Row[Any]) -> RunLine:
    names = ("id", "profile", "state", "started_at", "finished_at")
    values = {name: getattr(row, name) for name in names}
    values |= {"progress": row.progress or 0.0, "counts": row.counts or {}}
    return RunLine(**values, filters=row.scope.get("filters", {}))

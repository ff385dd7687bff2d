"""Which sessions a run goes over: one, those that filters choose, or all."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.jobs.run_queue import filters_of
from webapp.store.sessions import sessions


def of_session(engine: sa.Engine, session: str | None) -> dict[str, Any]:
    """The scope of one session, by its key; empty for None. Raises `NoSuchSession`."""
    if session is None:
        return {}
    with orm.Session(engine) as db:
        return {"session_id": sessions.find(db, session).id}


def session_ids(engine: sa.Engine, scope: dict[str, Any]) -> set[int] | None:
    """The sessions of a scope as it is now; None for all."""
    if "session_id" in scope:
        return {scope["session_id"]}
    filters = filters_of(scope)
    if filters is None:
        return None
    with orm.Session(engine) as db:
        narrowed = sessions.narrowed(db, filters)
        ids = narrowed.state.numbers["id"].values
        return {ids[slot] for slot in narrowed.view}

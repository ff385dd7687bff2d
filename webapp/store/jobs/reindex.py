"""Makes anew what was made of sessions: the search index, all that is derived."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from webapp.store import derive, search
from webapp.store.db import database
from webapp.store.models import Session


def reindex(
    engine: sa.Engine,
    *,
    anew: bool = False,
    every: bool = False,
    on_progress: Callable[[int, int], None] = lambda _count, _of: None,
) -> int:
    """Derive the sessions that are not, or `every` one, as for a new rule, the newest first; how many.

    `anew` makes the search index anew, too. That is one transaction, then each session is, so that one that was killed
    goes on where it was. `on_progress` gets how many, of how many.
    """
    if anew:
        with database.writing(engine) as connection:
            rebuild(connection)
    query = sa.select(Session.id).order_by(Session.id.desc())
    with engine.connect() as connection:
        ids = connection.scalars(query if every else query.where(Session.stale)).all()
    for count, session_id in enumerate(ids, 1):
        derive.settle(engine, session_id)
        on_progress(count, len(ids))
    return len(ids)


def rebuild(connection: sa.Connection) -> None:
    """Make the search index of all sessions, which are to be derived then; the caller commits."""
    search.rebuild(connection)
    connection.execute(sa.update(Session).values(stale=True))

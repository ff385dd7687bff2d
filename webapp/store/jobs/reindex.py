"""Makes anew what was made of sessions: the search index, and all that is derived."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlalchemy as sa

from webapp.store import derive, search
from webapp.store.db import database
from webapp.store.models import Session

OnProgress = Callable[[int, int], None]


def reindex(engine: sa.Engine, *, anew: bool = False, on_progress: OnProgress = lambda _count, _of: None) -> int:
    """Derive the sessions that are not, `anew` all with the search index; how many. `on_progress` gets how many, of
    how many. The index is one transaction, then each session is, so that one that was killed goes on where it was.
    """
    if anew:
        with database.writing(engine) as connection:
            rebuild(connection)
    with engine.connect() as connection:
        stale = connection.scalars(sa.select(Session.id).where(Session.stale).order_by(Session.id.desc())).all()
    return _each(engine, stale, derive.settle, on_progress)


def rebuild(connection: sa.Connection) -> None:
    """Make the search index of all sessions, which are to be derived then; the caller commits."""
    search.rebuild(connection)
    connection.execute(sa.update(Session).values(stale=True))


def refold_all(engine: sa.Engine, on_progress: OnProgress = lambda _count, _of: None) -> int:
    """Derive every session anew, the newest first, each in a transaction; how many sessions there are.

    That is how what is stored gets the findings of a new rule. `on_progress` hears how many are finished, of how many.
    """
    return _each(engine, _newest_first(engine), derive.settle, on_progress)


def _newest_first(engine: sa.Engine) -> Sequence[int]:
    with engine.connect() as connection:
        return connection.scalars(sa.select(Session.id).order_by(Session.id.desc())).all()


def _each(
    engine: sa.Engine, ids: Sequence[int], mend: Callable[[sa.Engine, int], object], on_progress: OnProgress
) -> int:
    for count, session_id in enumerate(ids, 1):
        mend(engine, session_id)
        on_progress(count, len(ids))
    return len(ids)

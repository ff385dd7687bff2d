"""Fills in what sessions lack: those that are not in the search index are folded anew, and indexed along."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlalchemy as sa

from webapp.store import search
from webapp.store.db import database
from webapp.store.models import Label, Session, is_unfinished, turns_of
from webapp.store.write import derived

OnProgress = Callable[[int, int], None]


def reindex(engine: sa.Engine, *, anew: bool = False, on_progress: OnProgress = lambda _count, _of: None) -> int:
    """Fill in every session that lacks something, `anew` all; how many. `on_progress` gets how many, of how many.

    A session is a transaction, the newest first, so that one that was killed goes on where it was.
    """
    if anew:
        with database.writing(engine) as connection:
            search.clear(connection)
    return _each(engine, lacking(engine), _fill_in, on_progress)


def refold_all(engine: sa.Engine, on_progress: OnProgress = lambda _count, _of: None) -> int:
    """Derive every session anew, the newest first, each in a transaction; how many sessions there are.

    That is how what is stored gets the findings of a new rule. `on_progress` hears how many are finished, of how many.
    """
    with engine.connect() as connection:
        ids = connection.scalars(sa.select(Session.id).where(~is_unfinished).order_by(Session.id.desc())).all()
    return _each(engine, ids, derived.refold, on_progress)


def _each(
    engine: sa.Engine, ids: Sequence[int], derive: Callable[[sa.Connection, int], object], on_progress: OnProgress
) -> int:
    for count, session_id in enumerate(ids, 1):
        with database.writing(engine) as connection:
            derive(connection, session_id)
        on_progress(count, len(ids))
    return len(ids)


def lacking(engine: sa.Engine) -> list[int]:
    """The sessions that are not in the index or have no facets, the newest first."""
    with engine.connect() as connection:
        indexed = search.indexed(connection)
        rows = connection.execute(sa.select(Session.id, Session.facets.is_(None).label("bare")).where(~is_unfinished))
        return sorted((row.id for row in rows if row.bare or row.id not in indexed), reverse=True)


def _fill_in(connection: sa.Connection, session_id: int) -> None:
    index = not search.is_indexed(connection, session_id)
    if derived.refold(connection, session_id, index=index) and index:
        labelled = sa.select(Label.turn_id).where(turns_of(Label.turn_id, session_id))
        search.noted(connection, connection.scalars(labelled).all())

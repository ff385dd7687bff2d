"""From one failed response to the next across the sessions of a list, in the list's order and under its filters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models import Session
from webapp.store.sessions import order, sessions, turns
from webapp.store.sessions.filters import Filters

_MOST_TRIED = 20
"""sessions that are looked at where a session says that it failed and none of its turns does: one grew just now"""
_of_id = sa.select(Session).where(Session.id == sa.bindparam("id"), Session.deleted_at.is_(None))


@dataclass(frozen=True, slots=True)
class FailedPlace:
    """A failed response: its session and its position there."""

    session: Session
    position: int


def beside(db: orm.Session, filters: Filters, session: Session, position: int, forward: bool) -> FailedPlace | None:
    """The failed response next to `position`, in the session or in those of the list behind (or before) it.

    Before the first turn the position is -1. After a search the sessions come newest first, as in the list; of a text
    that very many sessions hold, only the newest are gone through. None where the list ends. Raises `BadFilter`.
    """
    near = _within(db, session, position, forward)
    if near is not None:
        return FailedPlace(session, near)
    view, sort = sessions.view(db, filters), "match" if filters.searches else filters.sort
    view = replace(view, filters=replace(filters, failed=True))
    behind = order.values_of(sort, session)
    for row in sessions.in_order(db, view, sort, behind, _MOST_TRIED, forward=forward):
        neighbour = db.scalar(_of_id, {"id": row.id})
        near = None if neighbour is None else _within(db, neighbour, -1 if forward else neighbour.turn_count, forward)
        if neighbour is not None and near is not None:
            return FailedPlace(neighbour, near)
    return None


def _within(db: orm.Session, session: Session, position: int, forward: bool) -> int | None:
    near = turns.neighbours(db, session, position)
    return near.next_failed if forward else near.previous_failed

"""From one response of a failure group to the next, the newest first, as its examples and its list have them."""

from __future__ import annotations

from sqlalchemy import orm

from webapp.store.failures import group_detail, groups
from webapp.store.models import Session
from webapp.store.sessions import sessions, turns
from webapp.store.sessions.failure_steps import FailedPlace
from webapp.store.sessions.filters import Filters


def beside(
    db: orm.Session, key: str, filters: Filters, session: Session, position: int, forward: bool
) -> FailedPlace | None:
    """The response of the group behind the one at `position`, or before it; from anywhere else the newest one."""
    members = group_detail.members(db, key, filters)
    if not members:
        return None
    at = _index(db, members, session, position)
    to = 0 if at is None else at + (1 if forward else -1)
    if not 0 <= to < len(members):
        return None
    example = groups.examples(db, [members[to]]).get(members[to])
    return None if example is None else FailedPlace(sessions.find(db, example.session), example.position)


def _index(db: orm.Session, members: list[int], session: Session, position: int) -> int | None:
    try:
        turn_id = turns.find(db, session, position).turn.id
    except turns.NoSuchTurn:
        return None
    return members.index(turn_id) if turn_id in members else None

"""From one response of a failure group to the next, and "same failure: 49 responses in 12 sessions since 8 Nov"."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing import failure_group
from webapp.store.db.ids import moment
from webapp.store.failures import groups
from webapp.store.failures.group import Example
from webapp.store.failures.scope import Scope, scope
from webapp.store.models import TURNS_A_SESSION, FailedResponse
from webapp.store.sessions.filters import Filters


@dataclass(frozen=True, slots=True)
class SameFailure:
    """The group that a response is in: so many responses in so many sessions, `here` of them in its own session.

    `earlier` and `later` are the responses of the group before and after it, in the order of time.
    """

    key: str
    title: str
    count: int
    sessions: int
    here: int
    since: datetime
    last_seen: datetime
    earlier: Example | None = None
    later: Example | None = None


def of_turn(db: orm.Session, turn_id: int, filters: Filters | None = None) -> SameFailure | None:
    """The group of a response, of those that the filters leave; None where it did not fail, or is not in view.

    Without filters, all failed responses under home are in view.
    """
    here, session_id = scope(db, filters or Filters()), turn_id // TURNS_A_SESSION
    is_it = FailedResponse.turn_id == turn_id, FailedResponse.session_id == session_id
    row = db.execute(sa.select(here.key, FailedResponse.at).where(*here.where, *is_it)).first()
    if row is None:
        return None
    key, at = row
    (same,) = _same(db, here.of(key), session_id)
    place = sa.tuple_(FailedResponse.at, FailedResponse.turn_id)
    own = sa.tuple_(sa.literal(at, sa.BigInteger()), sa.literal(turn_id, sa.BigInteger()))
    beside = sa.select(FailedResponse.turn_id).where(*here.of(key).where).limit(1)
    newest_first = FailedResponse.at.desc(), FailedResponse.turn_id.desc()
    earlier = db.scalar(beside.where(place < own).order_by(*newest_first))
    later = db.scalar(beside.where(place > own).order_by(FailedResponse.at, FailedResponse.turn_id))
    places = groups.examples(db, [number for number in (earlier, later) if number is not None])
    return replace(same, earlier=places.get(earlier or 0), later=places.get(later or 0))


def of_session(db: orm.Session, session_id: int) -> list[SameFailure]:
    """The groups that a session's failed responses are in, the one with most of them first, without their places."""
    here = scope(db, Filters())
    keys = sa.select(here.key).where(*here.where, FailedResponse.session_id == session_id).distinct()
    same = _same(db, here.of(*db.scalars(keys)), session_id)
    return sorted(same, key=lambda one: (-one.here, -one.count, one.key))


def _same(db: orm.Session, here: Scope, session_id: int) -> list[SameFailure]:
    """The groups of a scope as a response of that session has them."""
    at, own = FailedResponse.at, sa.case((FailedResponse.session_id == session_id, 1))
    of_sessions = sa.func.count(FailedResponse.session_id.distinct())
    rows = here.grouped(db, sa.func.count(), of_sessions, sa.func.count(own), sa.func.min(at), sa.func.max(at))
    return [
        SameFailure(key, failure_group.title(key), count, sessions, in_own, moment(first), moment(last))
        for key, count, sessions, in_own, first, last in rows
    ]

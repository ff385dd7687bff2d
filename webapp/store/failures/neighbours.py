"""From one response of a failure group to the next, and "same failure: 49 responses in 12 sessions since 8 Nov"."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing import failure_group
from webapp.store.db.ids import moment
from webapp.store.failures import group_line, groups
from webapp.store.failures.group_line import Example, Facts
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
    earlier: Example | None
    later: Example | None


def of_turn(db: orm.Session, turn_id: int, filters: Filters | None = None) -> SameFailure | None:
    """The group of a response, of those that the filters leave; None where it did not fail, or is not in view.

    Without filters, all failed responses under home are in view.
    """
    here = scope(db, filters or Filters())
    of_turn = FailedResponse.turn_id == turn_id, FailedResponse.session_id == turn_id // TURNS_A_SESSION
    row = _first(db, here, *of_turn)
    if row is None:
        return None
    in_group = here.of(row.key)
    return _same(db, in_group, row, group_line.counts(db, in_group)[row.key])


def of_session(db: orm.Session, session_id: int) -> list[SameFailure]:
    """The groups that a session's failed responses are in, the one with most of them first."""
    here = scope(db, Filters())
    in_session = replace(here, where=(*here.where, FailedResponse.session_id == session_id))
    keys = [row.key for row in in_session.grouped(db)]
    facts = group_line.counts(db, replace(here, where=(*here.where, here.key.in_(keys)))) if keys else {}
    same: list[SameFailure] = []
    for key in keys:
        in_group = here.of(key)
        first = _first(db, in_group, FailedResponse.session_id == session_id)
        if first is not None:
            same.append(_same(db, in_group, first, facts[key]))
    return sorted(same, key=lambda same_failure: (-same_failure.here, -same_failure.count, same_failure.key))


_place = (FailedResponse.at, FailedResponse.turn_id)


def _first(db: orm.Session, here: Scope, *where: sa.ColumnElement[bool]) -> Any:
    query = sa.select(here.key.label("key"), *_place, FailedResponse.session_id).where(*here.where, *where)
    return db.execute(query.order_by(*_place).limit(1)).first()


def _same(db: orm.Session, in_group: Scope, failure: Any, facts: Facts) -> SameFailure:
    here = sa.select(sa.func.count()).select_from(FailedResponse).where(*in_group.where)
    earlier, later = (_beside(db, in_group, failure, forward) for forward in (False, True))
    examples = groups.examples(db, [turn_id for turn_id in (earlier, later) if turn_id is not None])
    return SameFailure(
        key=failure.key,
        title=failure_group.title(failure.key),
        count=facts.count,
        sessions=facts.sessions,
        here=db.scalar(here.where(FailedResponse.session_id == failure.session_id)) or 0,
        since=moment(facts.first),
        last_seen=moment(facts.last),
        earlier=None if earlier is None else examples.get(earlier),
        later=None if later is None else examples.get(later),
    )


def _beside(db: orm.Session, in_group: Scope, failure: Any, forward: bool) -> int | None:
    """The turn of the response of a group right after another one, or right before it."""
    bound = sa.tuple_(sa.literal(failure.at, sa.BigInteger()), sa.literal(failure.turn_id, sa.BigInteger()))
    place = sa.tuple_(*_place)
    query = sa.select(FailedResponse.turn_id).where(*in_group.where, place > bound if forward else place < bound)
    return db.scalar(query.order_by(*(column.asc() if forward else column.desc() for column in _place)).limit(1))

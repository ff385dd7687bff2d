"""Groups under a new version of their algorithm: made anew when somebody asks for it, beside the old keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from webapp.parsing.failure_group import VERSION
from webapp.store.db.database import writing
from webapp.store.db.dialect import change, insert_new
from webapp.store.models import TURNS_A_SESSION, FormerFailureGroup, Parse, Session
from webapp.store.write import list_rows, regrouping

_AT_ONCE = 200
_is_former = sa.and_(Parse.failure_group.is_not(None), ~Parse.failure_group.startswith(f"{VERSION}|", autoescape=True))


def renew(engine: sa.Engine, on_progress: Callable[[int], None] = lambda _count: None) -> int:
    """Give every failed parse the key of this version, and keep the old one; how many parses there were.

    Some at a time, each in a transaction: what was killed goes on where it was. Merges, splits and states stay with the
    keys that they were said of; `group_detail` says where the responses of an old key are now.
    """
    total, last = 0, 0
    while parses := _step(engine, last):
        total, last = total + len(parses), parses[-1].id
        on_progress(total)
    return total


def _step(engine: sa.Engine, last: int) -> Sequence[Any]:
    """Make the groups of the next parses behind `last` (a parse's number) anew; which they were."""
    with writing(engine) as connection:
        query = sa.select(Parse.id, Parse.turn_id, Parse.profile, Parse.failure_group).where(_is_former)
        parses = connection.execute(query.where(Parse.id > last).order_by(Parse.id).limit(_AT_ONCE)).all()
        if parses:
            old = [{"turn_id": row.turn_id, "profile": row.profile, "group_key": row.failure_group} for row in parses]
            keys = ("turn_id", "profile", "group_key")
            connection.execute(insert_new(connection.dialect.name, FormerFailureGroup, old, keys))
            turn_ids = sorted({row.turn_id for row in parses})
            regrouping.regroup(connection, turn_ids)
            sessions = {turn_id // TURNS_A_SESSION for turn_id in turn_ids}
            connection.execute(sa.update(Session).where(Session.id.in_(sessions)).values(changed=change()))
            list_rows.renew(connection, sessions)
        return parses

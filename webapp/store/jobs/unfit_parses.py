"""Finds stored parses that do not fit their texts, and marks them so that a replay parses those responses again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import sqlalchemy as sa

from webapp.parsing import stored_trace
from webapp.store.db import database
from webapp.store.models import Parse, Session, Turn, is_unfinished, turns_of

_AT_ONCE = 200
_parses = (
    sa.select(Parse.id, Parse.profile, Parse.trace, Turn.raw)
    .join(Turn, Turn.id == Parse.turn_id)
    .where(turns_of(Parse.turn_id, sa.bindparam("session", type_=sa.BigInteger)))
)


def mark(engine: sa.Engine, on_progress: Callable[[int, int], None] = lambda _count, _of: None) -> dict[str, int]:
    """How many were marked, by profile: their version becomes `unfit`, which no profile has. A session at a time."""
    with engine.connect() as connection:
        ids = connection.scalars(sa.select(Session.id).where(~is_unfinished).order_by(Session.id)).all()
    counts: Counter[str] = Counter()
    for count, session_id in enumerate(ids, 1):
        counts.update(_mark_in(engine, session_id))
        on_progress(count, len(ids))
    return dict(counts)


def _mark_in(engine: sa.Engine, session_id: int) -> list[str]:
    unfit: list[tuple[int, str]] = []
    with engine.connect() as connection:
        for batch in connection.execute(_parses, {"session": session_id}).partitions(_AT_ONCE):
            unfit += [(row.id, row.profile) for row in batch if stored_trace.misfit(row.raw or "", row.trace)]
    if unfit:
        with database.writing(engine) as connection:
            change = sa.update(Parse).where(Parse.id == sa.bindparam("number")).values(version=stored_trace.UNFIT)
            connection.execute(change, [{"number": number} for number, _ in unfit])
    return [profile for _, profile in unfit]

"""Links sessions to the dumps that they are in."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from webapp.store.db.ids import batched
from webapp.store.models import DumpSession
from webapp.store.write import rows

_AT_ONCE = 500
_links = rows.plain(DumpSession)
_find_linked = sa.select(DumpSession.session_id).where(
    DumpSession.dump_id == sa.bindparam("dump"), DumpSession.session_id.in_(sa.bindparam("sessions", expanding=True))
)
_add_turns = (
    sa.update(_links)
    .where(_links.c.dump_id == sa.bindparam("dump"), _links.c.session_id == sa.bindparam("session"))
    .values(new_turns=_links.c.new_turns + sa.bindparam("turns"))
)


def add(connection: sa.Connection, dump_id: int, new_turns: Mapping[int, int]) -> int:
    """Link sessions to a dump that brought them so many turns more; how many were not linked before."""
    ids, linked = list(new_turns), set[int]()
    for batch in batched(ids, _AT_ONCE):
        linked |= set(connection.scalars(_find_linked, {"dump": dump_id, "sessions": batch}))
    more = [{"dump": dump_id, "session": number, "turns": new_turns[number]} for number in linked if new_turns[number]]
    if more:
        connection.execute(_add_turns, more)
    fresh = [number for number in ids if number not in linked]
    values = [{"dump_id": dump_id, "session_id": number, "new_turns": new_turns[number]} for number in fresh]
    rows.insert(connection, _links, values)
    return len(fresh)

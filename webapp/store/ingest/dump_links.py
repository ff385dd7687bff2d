"""Links sessions to the dumps that they are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from webapp.store.models import DumpSession
from webapp.store.write.writing import SessionOutcome

_insert = sa.insert(DumpSession)
_find = sa.select(DumpSession.session_id).where(
    DumpSession.dump_id == sa.bindparam("dump"), DumpSession.session_id == sa.bindparam("session")
)


def link(connection: sa.Connection, dump_id: int, outcomes: Sequence[SessionOutcome]) -> None:
    """Link sessions of a dump that were just written or found."""
    links = [
        {"dump_id": dump_id, "session_id": outcome.id, "new_turns": outcome.new_turns}
        for outcome in outcomes
        if outcome.what == "new" or connection.scalar(_find, {"dump": dump_id, "session": outcome.id}) is None
    ]
    if links:
        connection.execute(_insert, links)


def link_found(connection: sa.Connection, dump_id: int, session_ids: Iterable[int]) -> None:
    """Link those sessions of a dump that were there before anything was written."""
    linked = set(connection.scalars(sa.select(DumpSession.session_id).where(DumpSession.dump_id == dump_id)))
    missing = [{"dump_id": dump_id, "session_id": number} for number in sorted(set(session_ids) - linked)]
    if missing:
        connection.execute(_insert, missing)

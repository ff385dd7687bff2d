"""Changes the home profile of a stored session: everything that is derived of it follows in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from webapp import parsing
from webapp.parsing import Profile
from webapp.store.db import dialect
from webapp.store.models import TURNS_A_SESSION, Parse, ParseRepair, Session, Turn, is_response
from webapp.store.write import derived, regrouping, row_values, rows
from webapp.store.write.home import UNKNOWN, Home

_AT_ONCE = 200
"""responses whose texts are in memory together"""
_lock = (
    sa.select(Session.home_profile, Session.home_source)
    .where(Session.id == sa.bindparam("session"))
    .with_for_update(key_share=True)
)


def change_home(connection: sa.Connection, session_id: int, home: Home) -> Home | None:
    """Give a session another home profile; the one that it had, None where the session is gone. The caller commits.

    Responses that this profile has not parsed yet are parsed; what others made of them stays. Raises `UnknownProfile`.
    """
    row = connection.execute(_lock, {"session": session_id}).one_or_none()
    if row is None:
        return None
    former = Home(row.home_profile, row.home_source)
    if home == former:
        return former
    values = {"home_profile": home.profile, "home_source": home.source, "tried": None, "tried_key": None}
    connection.execute(sa.update(Session).where(Session.id == session_id).values(values))
    if home.profile == former.profile:
        connection.execute(sa.update(Session).where(Session.id == session_id).values(changed=dialect.change()))
        return former
    if home.profile != UNKNOWN:
        _parse(connection, session_id, parsing.profile(home.profile))
    derived.refold(connection, session_id)
    return former


def _parse(connection: sa.Connection, session_id: int, profile: Profile) -> None:
    for batch in unparsed(connection, session_id, profile):
        ids = [row.id for row in batch]
        for table in (Parse, ParseRepair):
            connection.execute(sa.delete(table).where(table.turn_id.in_(ids), table.profile == profile.name))
        parsed = [(row.id, row.raw, parsing.parse(row.raw, profile)) for row in batch]
        new = [row_values.parse_row(*parse) for parse in regrouping.with_ours(connection, parsed)]
        connection.execute(rows.parses.insert(), new)
        if repaired := [row for turn_id, _, trace in parsed for row in row_values.repair_rows(turn_id, trace)]:
            connection.execute(rows.repairs.insert(), repaired)


def unparsed(
    connection: sa.Connection, session_id: int, profile: Profile
) -> Iterator[Sequence[sa.Row[int, str | None]]]:
    """A session's responses (id, raw) without a parse of this version of the profile, some at a time."""
    low, high = session_id * TURNS_A_SESSION, (session_id + 1) * TURNS_A_SESSION
    parsed = sa.and_(Parse.turn_id == Turn.id, Parse.profile == profile.name, Parse.version == profile.version)
    query = (
        sa.select(Turn.id, Turn.raw)
        .outerjoin(Parse, parsed)
        .where(Turn.id < high, is_response, Parse.id.is_(None))
        .order_by(Turn.id)
        .limit(_AT_ONCE)
    )
    after = low - 1
    while batch := connection.execute(query.where(Turn.id > after)).all():
        after = batch[-1].id
        yield batch

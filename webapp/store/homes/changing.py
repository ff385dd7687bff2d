"""Changes the home profile of a stored session; who calls derives it afterwards."""

from __future__ import annotations

import sqlalchemy as sa

from webapp import parsing
from webapp.store import derive
from webapp.store.db import dialect
from webapp.store.models import Parse, ParseRepair, Session, turns_of
from webapp.store.write.home import UNKNOWN, Home

_lock = (
    sa.select(Session.home_profile, Session.home_source)
    .where(Session.id == sa.bindparam("session"))
    .with_for_update(key_share=True)
)


def change_home(connection: sa.Connection, session_id: int, home: Home) -> Home | None:
    """Give a session another home profile; the one that it had, None where the session is gone. The caller commits.

    What another version of this profile parsed is forgotten, so that it is parsed anew; what others made of the
    responses stays. Raises `UnknownProfile`.
    """
    row = connection.execute(_lock, {"session": session_id}).one_or_none()
    if row is None:
        return None
    former = Home(row.home_profile, row.home_source)
    if home == former:
        return former
    values = {"home_profile": home.profile, "home_source": home.source, "tried": None, "tried_key": None}
    connection.execute(sa.update(Session).where(Session.id == session_id).values(**values, changed=dialect.change()))
    if home.profile != former.profile:
        if home.profile != UNKNOWN:
            _forget_older(connection, session_id, home.profile)
        derive.mark_stale(connection, [session_id])
    return former


def _forget_older(connection: sa.Connection, session_id: int, name: str) -> None:
    mine = sa.and_(turns_of(Parse.turn_id, session_id), Parse.profile == name)
    older = sa.select(Parse.turn_id).where(mine, Parse.version != parsing.profile(name).version)
    repairs = sa.delete(ParseRepair).where(ParseRepair.turn_id.in_(older), ParseRepair.profile == name)
    connection.execute(repairs)
    connection.execute(sa.delete(Parse).where(mine, Parse.turn_id.in_(older)))

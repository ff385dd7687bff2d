"""Stores a session's derived state, and makes it anew from what is stored of the session."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from webapp.store import search
from webapp.store.db.dialect import change
from webapp.store.models import Session, SessionModel
from webapp.store.write import contracts, finding_runner, list_rows
from webapp.store.write.session_state import SessionState
from webapp.store.write.stored_turns import fold

_sessions: sa.Table = Session.__table__  # type: ignore[assignment]
_lock = (
    sa.select(Session.home_profile, Session.external_id, Session.title)
    .where(Session.id == sa.bindparam("session"))
    .with_for_update(key_share=True)
)
_find_models = sa.select(SessionModel.model).where(SessionModel.session_id == sa.bindparam("session"))
_insert_models = sa.insert(SessionModel)
_update = sa.update(_sessions).where(_sessions.c.id == sa.bindparam("session")).values(changed=change())


def store(connection: sa.Connection, state: SessionState, **values: Any) -> None:
    """Store what a session's turns left, with other columns of its row; the caller commits.

    Findings stay as they are where the rules did not look on.
    """
    session = {"session": state.session_id}
    connection.execute(_update, {**session, **state.columns(), **values})
    if missing := set(state.tally.models).difference(connection.scalars(_find_models, session)):
        new = [{"session_id": state.session_id, "model": model} for model in sorted(missing)]
        connection.execute(_insert_models, new)
    if state.rules is not None:
        finding_runner.replace_rows(connection, state.session_id, state.findings)
    contracts.store(connection, state.session_id, state.first_contract, state.contracts)
    state.first_contract = len(state.tally.positions)
    state.contracts.clear()
    list_rows.renew(connection, [state.session_id])


def refold(connection: sa.Connection, session_id: int, *, index: bool = False) -> bool:
    """Make all that is derived of a stored session anew; False where it is gone. With `index` its raw texts come into
    the index too.

    What the index says of errors follows in any case where the session is in it.

    Nobody else writes the session until the caller commits.
    """
    row = connection.execute(_lock, {"session": session_id}).one_or_none()
    if row is None:
        return False
    pending = search.Pending(has_raw=index)
    if index:
        pending.note(*search.session_notes(session_id, row.external_id, row.title))
    indexed = index or search.is_indexed(connection, session_id)
    if indexed and not index:
        search.forget_errors(connection, session_id)
    state = fold(connection, session_id, row.home_profile, pending if indexed else None)
    pending.flush(connection)
    state.settle()
    store(connection, state)
    return True

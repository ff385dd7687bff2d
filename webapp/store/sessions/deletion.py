"""Deletes sessions: hidden at once, gone for good after a while, and back when they are undone or come in again."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.database import writing, writing_long
from webapp.store.db.dialect import change
from webapp.store.db.ids import batched
from webapp.store.models import (
    TURNS_A_SESSION,
    Dump,
    DumpSession,
    FinalLabel,
    Label,
    LabelEvent,
    Session,
    Turn,
    turns_of,
)
from webapp.store.search import index
from webapp.store.write.rows import remove_unused_declarations

UNDONE_FOR = timedelta(hours=1)
"""how long a deletion can be undone for sure"""
AT_ONCE = 5000
"""turns that are removed for good in one transaction, which SQLite holds in memory"""
_last = sa.select(sa.func.max(Turn.ordinal)).where(Turn.session_id == sa.bindparam("session"))


def delete(db: orm.Session, keys: Iterable[str]) -> list[str]:
    """Hide the sessions with these keys and commit; the keys of those that were there, for `undo`."""
    return _set(db, keys, Session.deleted_at.is_(None), datetime.now(UTC))


def undo(db: orm.Session, keys: Iterable[str]) -> list[str]:
    """Bring hidden sessions back and commit; the keys of those that were still there."""
    return _set(db, keys, Session.deleted_at.is_not(None), None)


def _set(
    db: orm.Session, keys: Iterable[str], condition: sa.ColumnElement[bool], deleted_at: datetime | None
) -> list[str]:
    changed_keys: list[str] = []
    for batch in batched(dict.fromkeys(keys)):
        in_order = sa.select(Session.id).where(Session.key.in_(batch), condition).order_by(Session.id)
        ids = db.scalars(in_order.with_for_update(key_share=True)).all()  # the order in which labels hold them
        statement = sa.update(Session).where(Session.id.in_(ids), condition)
        values = {"deleted_at": deleted_at, "changed": change()}
        returning = statement.values(values).returning(Session.key)
        changed_keys += db.scalars(returning, execution_options={"synchronize_session": False})
    db.commit()
    return changed_keys


def purge(engine: sa.Engine, *, older_than: timedelta = UNDONE_FOR) -> int:
    """Remove for good what was deleted longer ago than that, a transaction or more each; how many sessions went.

    A session with labels, or with a history of them, stays as it is, hidden: labels are never lost.
    """
    before = datetime.now(UTC) - older_than
    with engine.connect() as connection:
        session_ids = connection.scalars(_may_go(before).order_by(Session.id)).all()
    purged = sum(_purge(engine, number, before) for number in session_ids)
    if purged:
        remove_unused_declarations(engine)
    return purged


def purge_just_hidden(engine: sa.Engine, session_ids: Iterable[int]) -> int:
    """Remove those of these sessions that are hidden at once, as `purge` does an hour later; how many went."""
    now = datetime.now(UTC) + timedelta(seconds=1)
    return sum(_purge(engine, number, now) for number in session_ids)


def bring_back(engine: sa.Engine, dump_id: int) -> bool:
    """Undo the deletion of a dump's sessions, since it came in again; False where some of them are gone for good."""
    linked = sa.select(DumpSession.session_id).where(DumpSession.dump_id == dump_id)
    with engine.connect() as connection:
        hidden = list(connection.scalars(sa.select(Session.id).where(Session.id.in_(linked), _hidden)))
        linked_count = connection.scalar(sa.select(sa.func.count()).select_from(linked.subquery())) or 0
        whole = connection.scalar(sa.select(Dump.session_count).where(Dump.id == dump_id)) or 0
    if hidden:
        with writing(engine) as connection:
            back = sa.update(Session).where(Session.id.in_(linked), _hidden)
            connection.execute(back.values(deleted_at=None, changed=change()))
    return linked_count >= whole


def replace_reading(db: orm.Session, dump_id: int, keys: Iterable[str]) -> None:
    """Hide and unlink the sessions that this dump alone brought, that are none of `keys`, and that nobody labelled."""
    elsewhere = orm.aliased(DumpSession)
    query = (
        sa.select(Session.id, Session.key)
        .join(DumpSession, DumpSession.session_id == Session.id)
        .where(DumpSession.dump_id == dump_id, Session.deleted_at.is_(None), Session.dump_id == dump_id)
        .where(~sa.exists().where(elsewhere.session_id == Session.id, elsewhere.dump_id != dump_id))
        .where(~has_labels(Session.id))
    )
    still = set(keys)
    wrong = [row for row in db.execute(query) if row.key not in still]
    for ids in batched(row.id for row in wrong):
        db.execute(sa.delete(DumpSession).where(DumpSession.dump_id == dump_id, DumpSession.session_id.in_(ids)))
    delete(db, [row.key for row in wrong])


_hidden = Session.deleted_at.is_not(None)


def has_labels(session_id: Any) -> sa.ColumnElement[bool]:
    """Whether a session, by its id or the column of it, has labels, settlements, or a history of either."""
    tables = (Label, FinalLabel, LabelEvent)
    return sa.or_(*(sa.exists().where(turns_of(table.turn_id, session_id)) for table in tables))


def _purge(engine: sa.Engine, session_id: int, before: datetime) -> bool:
    """Whether it went. Of a long session nothing can be found or brought back once its end goes: the rest is gone some
    transactions later, or, where the process dies or a label came in between, not before the next purge.
    """
    with writing(engine) as connection:
        if not connection.scalar(_may_go(before).where(Session.id == session_id)):
            return False
        first = (connection.scalar(_last, {"session": session_id}) or 0) // AT_ONCE * AT_ONCE
        if first:  # no name is left by which it could be found: not its id or key, nor its dump
            names = {"external_id": f"gone-{secrets.token_hex(16)}", "key": secrets.token_hex(8)}
            connection.execute(sa.update(Session).where(Session.id == session_id).values(**names))
            connection.execute(sa.delete(DumpSession).where(DumpSession.session_id == session_id))
        _remove(connection, session_id, first)
    for start in range(first - AT_ONCE, -1, -AT_ONCE):
        with writing_long(engine) as connection:
            if not connection.scalar(_may_go(before).where(Session.id == session_id)):
                return False
            _remove(connection, session_id, start)
    return True


def _may_go(before: datetime) -> sa.Select[int]:
    """The numbers of sessions that were deleted before that time and have no labels. It is asked again of each: another
    process may have removed it, and on SQLite a session that came in since has its number."""
    return sa.select(Session.id).where(Session.deleted_at < before, ~has_labels(Session.id))


def _remove(connection: sa.Connection, session_id: int, first: int) -> None:
    """Delete the turns from the ordinal `first` on; with the very first the session itself."""
    index.remove(connection, session_id, first)
    if first == 0:
        connection.execute(sa.delete(Session).where(Session.id == session_id))
        return
    low, high = session_id * TURNS_A_SESSION + first, (session_id + 1) * TURNS_A_SESSION
    connection.execute(sa.delete(Turn).where(Turn.id >= low, Turn.id < high))

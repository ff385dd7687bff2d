"""Deletes sessions: hidden at once, gone for good after a while, and back when they are undone or come in again."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store import search
from webapp.store.database import writing
from webapp.store.dialect import change
from webapp.store.models import TURNS_A_SESSION, Dump, DumpSession, FinalLabel, Label, LabelEvent, Session, Turn

UNDONE_FOR = timedelta(hours=1)
"""how long a deletion can be undone for sure"""
AT_ONCE = 5000
"""turns that are removed for good in one transaction …"""
GIVES_WAY = 0.025
"""… and seconds until the next: SQLite has one writer, which holds what it deletes in memory"""
_last = sa.select(sa.func.max(Turn.ordinal)).where(Turn.session_id == sa.bindparam("session"))
_there_for = sa.select(Session.id).where(
    Session.id == sa.bindparam("session"), Session.deleted_at < sa.bindparam("before")
)
_survivor = (
    sa.select(Session.id, Session.changed)
    .where(Session.id != sa.bindparam("session"))
    .order_by(Session.changed.desc())
    .limit(1)
)


def delete(db: orm.Session, keys: Iterable[str]) -> list[str]:
    """Hide the sessions with these keys and commit; the keys of those that were there, for `undo`."""
    return _set(db, keys, Session.deleted_at.is_(None), datetime.now(UTC))


def undo(db: orm.Session, keys: Iterable[str]) -> list[str]:
    """Bring hidden sessions back and commit; the keys of those that were still there."""
    return _set(db, keys, Session.deleted_at.is_not(None), None)


def _set(db: orm.Session, keys: Iterable[str], there: sa.ColumnElement[bool], deleted_at: datetime | None) -> list[str]:
    wanted = list(dict.fromkeys(keys))
    found: list[str] = []
    for at in range(0, len(wanted), 500):
        statement = sa.update(Session).where(Session.key.in_(wanted[at : at + 500]), there)
        values = {"deleted_at": deleted_at, "changed": change()}
        found += db.scalars(
            statement.values(values).returning(Session.key), execution_options={"synchronize_session": False}
        )
    db.commit()
    return found


def purge(engine: sa.Engine, *, older_than: timedelta = UNDONE_FOR) -> int:
    """Remove for good what was deleted longer ago than that, a transaction or more each; how many sessions went.

    A session with labels, or with a history of them, stays as it is, hidden: labels are never lost. So does a single
    last one, whose `changed` says where the next one's begins.
    """
    before = datetime.now(UTC) - older_than
    with engine.connect() as connection:
        query = sa.select(Session.id).where(Session.deleted_at < before).order_by(Session.id)
        wanted = [number for number in connection.scalars(query) if not _labelled(connection, number)]
    return sum(_purge(engine, number, before) for number in wanted)


def bring_back(engine: sa.Engine, dump_id: int) -> bool:
    """Undo the deletion of a dump's sessions, since it came in again; False where some of them are gone for good."""
    linked = sa.select(DumpSession.session_id).where(DumpSession.dump_id == dump_id)
    with engine.connect() as connection:
        hidden = list(connection.scalars(sa.select(Session.id).where(Session.id.in_(linked), _hidden)))
        there = connection.scalar(sa.select(sa.func.count()).select_from(linked.subquery())) or 0
        whole = connection.scalar(sa.select(Dump.session_count).where(Dump.id == dump_id)) or 0
    if hidden:
        with writing(engine) as connection:
            back = sa.update(Session).where(Session.id.in_(linked), _hidden)
            connection.execute(back.values(deleted_at=None, changed=change()))
    return there >= whole


_hidden = Session.deleted_at.is_not(None)


def _labelled(connection: sa.Connection, session_id: int) -> bool:
    first = session_id * TURNS_A_SESSION
    here = (table.turn_id.between(first, first + TURNS_A_SESSION - 1) for table in (Label, FinalLabel, LabelEvent))
    return bool(connection.scalar(sa.select(sa.or_(*(sa.exists().where(where) for where in here)))))


def _purge(engine: sa.Engine, session_id: int, before: datetime) -> bool:
    """Whether it went; another session takes over the highest `changed`, from which the next one is counted.

    Of a long session nothing can be found or brought back once its end goes: the rest is gone a transaction later, or,
    where the process dies, with the next purge.
    """
    named = {"session": session_id}
    with writing(engine) as connection:
        survivor = connection.execute(_survivor, named).first()
        there = connection.scalar(_there_for, {**named, "before": before})
        if there is None or survivor is None or _labelled(connection, session_id):
            return False
        higher = sa.select(Session.id).where(Session.id == session_id, Session.changed > survivor.changed).exists()
        connection.execute(sa.update(Session).where(Session.id == survivor.id, higher).values(changed=change()))
        last: int = connection.scalar(_last, named) or 0
        if last < AT_ONCE:
            _remove(connection, session_id, 0)
            return True
        _detach(connection, session_id)
    for first in range(last // AT_ONCE * AT_ONCE, -1, -AT_ONCE):
        with writing(engine) as connection:
            if _labelled(connection, session_id):
                return False
            _remove(connection, session_id, first)
        time.sleep(GIVES_WAY)
    return True


def _detach(connection: sa.Connection, session_id: int) -> None:
    """Leave no name by which the session could be found: not by its id or key, nor by its dump."""
    names = {"external_id": f"gone-{secrets.token_hex(16)}", "key": secrets.token_hex(8)}
    connection.execute(sa.update(Session).where(Session.id == session_id).values(**names))
    connection.execute(sa.delete(DumpSession).where(DumpSession.session_id == session_id))


def _remove(connection: sa.Connection, session_id: int, first: int) -> None:
    """Delete the turns from the ordinal `first` on; with the very first the session itself."""
    search.remove(connection, session_id, first)
    if first == 0:
        connection.execute(sa.delete(Session).where(Session.id == session_id))
        return
    low, high = session_id * TURNS_A_SESSION + first, (session_id + 1) * TURNS_A_SESSION
    connection.execute(sa.delete(Turn).where(Turn.id >= low, Turn.id < high))

"""An index of all sessions in memory, kept fresh from the database: any filters, counts and orders in milliseconds.

One a process and database. Each request asks for it by `current`, which reads what was written since, by whatever
process; requests that came before go on with the state they have.
"""

from __future__ import annotations

import gc
import threading
from itertools import islice
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.dialect import horizon
from webapp.store.index import session_reader
from webapp.store.index.state import State

__all__ = ["State", "current", "warm"]

_AT_ONCE = 20_000
"""sessions whose rows are in memory together while all are read"""
_REREAD = 4000
"""Once so many slots more are dead than alive, all is read again, beside the requests."""


class _Index:
    """`horizon` is where reading goes on (see `store.db.dialect`): it moves though nothing new is found behind it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.state: State | None = None
        self.horizon = 0
        self.rereading = False

    def fresh(self, connection: sa.Connection) -> State:
        with self.lock:
            upto = horizon(connection)
            if upto < self.horizon:  # as when another database's transaction ended while it was looked for
                upto = horizon(connection)
            if self.state is None or upto < self.horizon:
                self.state = _read(connection)
            elif upto > self.horizon or connection.dialect.name == "postgresql":
                self.state = _refreshed(connection, self.state, self.horizon)
            self.horizon = upto
            return self.state

    def compact(self, engine: sa.Engine) -> None:
        """Read all again into as few slots as there are sessions, while requests go on with what there is."""
        if self.rereading or self.state is None or self.state.size < 2 * self.state.alive.bit_count() + _REREAD:
            return
        self.rereading = True
        threading.Thread(target=self._reread, args=(engine,), name="index", daemon=True).start()

    def _reread(self, engine: sa.Engine) -> None:
        try:
            with engine.connect() as connection:
                upto = horizon(connection)
                state = _read(connection)
            with self.lock:
                self.state, self.horizon = state, upto
        finally:
            self.rereading = False


_indexes: WeakKeyDictionary[sa.Engine, _Index] = WeakKeyDictionary()
_indexes_lock = threading.Lock()


def current(db: orm.Session) -> State:
    """The index of the session's database as it is now."""
    connection = db.connection()
    index = _of(connection.engine)
    state = index.fresh(connection)
    index.compact(connection.engine)
    return state


def warm(engine: sa.Engine) -> None:
    """Read the index now, so that no request has to wait for it."""
    with engine.connect() as connection:
        _of(engine).fresh(connection)


def _of(engine: sa.Engine) -> _Index:
    with _indexes_lock:
        return _indexes.setdefault(engine, _Index())


def _read(connection: sa.Connection) -> State:
    """Without the garbage collector, which would go through millions of short lists: a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        rows, state = session_reader.everything(connection), State()
        while some := list(islice(rows, _AT_ONCE)):
            state = state.extended(some)
        return state
    finally:
        if was_on:
            gc.enable()


def _refreshed(connection: sa.Connection, state: State, horizon: int) -> State:
    """With what was written since the horizon.

    On PostgreSQL what a transaction that still ran might hide is looked at again: what is known is left out.
    """
    changes = state.numbers["changed"].values
    new: list[int] = []
    for number, change in session_reader.changed(connection, horizon):
        slot = state.slot(number)
        if slot is None or changes[slot] != change:
            new.append(number)
    if not new:
        return state
    rows = list(session_reader.some(connection, new))
    present = {row.id for row in rows}
    return state.extended(rows, [number for number in new if number not in present])

"""An index of all sessions in memory, kept fresh from the database: any filters, counts and orders in milliseconds.

One a process and database. Each request asks for it by `current`, which reads what was written since, by whatever
process; requests that came before go on with the state they have. A start reads a file (`keep_in`) and what was
written since that, where the database knows the file and both count the same; else every session.
"""

from __future__ import annotations

import gc
import logging
import secrets
import threading
from itertools import islice
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.database import PerEngine
from webapp.store.db.dialect import horizon
from webapp.store.index import marks, session_reader, state_file
from webapp.store.index.state import State

__all__ = ["State", "current", "keep", "keep_in", "warm"]

FILE = "index.state"
"""in the data folder"""
_AT_ONCE = 20_000
"""sessions whose rows are in memory together while all are read"""
_REREAD = 4000
"""Once so many slots more are dead than alive, all is read again, beside the requests."""
_LEAST_KEPT = 2000
"""sessions from which on a file is worth it"""
_CATCH_UPS = 3
"""times that what was written meanwhile is read before a file's state is given up"""
_log = logging.getLogger(__name__)


class _Index:
    """`horizon` is where reading goes on (see `store.db.dialect`): it moves though nothing new is found behind it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.state: State | None = None
        self.horizon = 0
        self.rereading = False
        self.path: Path | None = None
        self.kept: tuple[object, int] | None = None

    def fresh(self, connection: sa.Connection) -> State:
        with self.lock:
            if self.state is None and self.path is not None:
                self._from_file(connection, self.path)
            upto = horizon(connection)
            if upto < self.horizon:  # as when another database's transaction ended while it was looked for
                upto = horizon(connection)
            if self.state is None or upto < self.horizon:
                self.state = _read(connection)
            elif upto > self.horizon or connection.dialect.name == "postgresql":
                self.state = _refreshed(connection, self.state, self.horizon)
            self.horizon = upto
            return self.state

    def _from_file(self, connection: sa.Connection, path: Path) -> None:
        try:
            stored = state_file.read(path)
            if not marks.is_known(connection, stored.mark):
                raise state_file.Unusable("it is of another database, or of one that was restored since")
            upto = horizon(connection)
            if upto < stored.horizon:
                raise state_file.Unusable("it is newer than the database")
            state = _caught_up(connection, stored.state, stored.horizon)
        except state_file.Unusable as unusable:
            _log.info("every session is read for the index, without %s: %s", path.name, unusable)
            return
        self.state, self.horizon = state, upto
        self.kept = state.reading, state.size

    def keep(self, engine: sa.Engine) -> None:
        """Write the file anew where a start would have much to catch up."""
        with self.lock:
            state, upto, path = self.state, self.horizon, self.path
        if path is None or state is None or state.size < _LEAST_KEPT or not _is_worth(state, self.kept):
            return
        mark = secrets.token_hex(16)
        try:
            state_file.write(path, state_file.Stored(state, upto, mark))
        except OSError as error:
            _log.warning("the index is not kept, so that the next start reads every session: %s", error)
            return
        marks.put(engine, mark)
        self.kept = state.reading, state.size

    def compact(self, engine: sa.Engine) -> None:
        """Read all again into as few slots as there are sessions, while requests go on with what there is."""
        if self.rereading or self.state is None or self.state.size < 2 * len(self.state.alive) + _REREAD:
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


_indexes = PerEngine(_Index)


def current(db: orm.Session) -> State:
    """The index of the session's database as it is now."""
    connection = db.connection()
    index = _indexes(connection.engine)
    state = index.fresh(connection)
    index.compact(connection.engine)
    return state


def warm(engine: sa.Engine) -> None:
    """Read the index now, so that no request has to wait for it."""
    with engine.connect() as connection:
        _indexes(engine).fresh(connection)


def keep_in(engine: sa.Engine, folder: Path) -> None:
    """Say in which folder the index is kept between starts, before it is asked for."""
    _indexes(engine).path = folder / FILE


def keep(engine: sa.Engine) -> None:
    """Write the index where `keep_in` says, where that saves the next start more than a little."""
    warm(engine)
    _indexes(engine).keep(engine)


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


def _caught_up(connection: sa.Connection, state: State, horizon: int) -> State:
    """A file's state as the database is now, sessions that were purged since left out. Raises `Unusable`."""
    for _ in range(_CATCH_UPS):
        state = _refreshed(connection, state, horizon)
        if state.check_sum() == session_reader.check_sum(connection):
            return state
        present = session_reader.ids(connection)
        state = state.extended((), [number for number in state.ids(state.alive) if number not in present])
        if state.check_sum() == session_reader.check_sum(connection):
            return state
    raise state_file.Unusable("with what was written since it does not count what the database counts")


def _is_worth(state: State, kept: tuple[object, int] | None) -> bool:
    if kept is None or kept[0] is not state.reading:
        return True
    return state.size - kept[1] > max(_LEAST_KEPT, kept[1] // 50)

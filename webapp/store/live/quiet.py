"""Runs the findings' rules over sessions that grew, once they are quiet: the rules look at a session whole."""

from __future__ import annotations

import logging
import threading
import time

import sqlalchemy as sa

from webapp.store import database, noticing
from webapp.store.models import Session

QUIET, LONGEST = 3.0, 60.0
"""Seconds without growth after which a session is looked at, and after which it is though it grows."""
_log = logging.getLogger(__name__)


class Quiet:
    """Sessions that wait for the rules, and a thread that lives while there are some."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[float, float]] = {}
        self._thread: threading.Thread | None = None

    def grew(self, session_id: int) -> None:
        """Have the session looked at when it is quiet."""
        now = time.monotonic()
        with self._lock:
            first, _ = self._waiting.get(session_id, (now, now))
            self._waiting[session_id] = (first, now)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="findings of live sessions", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while (session_id := self._next()) is not None:
            if session_id < 0:
                time.sleep(QUIET / 4)
                continue
            try:
                self._renew(session_id)
            except sa.exc.SQLAlchemyError as error:
                _log.warning("the findings of session %s wait for its next growth: %s", session_id, error)

    def _next(self) -> int | None:
        """A session that is due; -1 where all must wait; None, and the end of the thread, where there is none."""
        now = time.monotonic()
        with self._lock:
            for session_id, (first, last) in self._waiting.items():
                if now - last >= QUIET or now - first >= LONGEST:
                    del self._waiting[session_id]
                    return session_id
            if not self._waiting:
                self._thread = None
                return None
        return -1

    def _renew(self, session_id: int) -> None:
        with database.writing(self._engine) as connection:
            if connection.scalar(sa.select(Session.id).where(Session.id == session_id)) is not None:
                noticing.renew(connection, session_id)

"""Runs the findings' rules over sessions that grew, once they are quiet, on a small part of one processor."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager

import sqlalchemy as sa

from webapp.store.db import database
from webapp.store.live.daily_dump import Count
from webapp.store.write import finding_runner
from webapp.store.write.finding_runner import FindingRunner
from webapp.store.write.session_state import finding_counts
from webapp.store.write.state_cache import find_changed

QUIET, LONGEST = 3.0, 60.0
"""Seconds without growth after which a session is looked at, and after which it is though it grows."""
PAUSE = 19.0
"""How many times as long as it worked the thread rests: the rules take a twentieth of a processor at most."""
MOST_FOLLOWED = 64
"""Sessions whose rules' state is kept, so that they go on where they were; other sessions are read from the start."""
_changed_until_end = find_changed.with_for_update()
_log = logging.getLogger(__name__)
rest = time.sleep


class FindingsWorker:
    """Sessions that wait for the rules, and a thread that lives while there are some.

    What it writes it writes while it holds `writing`, as whoever grows sessions does, and tells `renewed` of it: the
    session, its `changed` before and after, and how many findings of each rule it has.
    """

    def __init__(
        self,
        engine: sa.Engine,
        writing: AbstractContextManager[object],
        renewed: Callable[[int, int, int, dict[str, int]], None],
    ) -> None:
        self._engine = engine
        self._writing = writing
        self._renewed = renewed
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[float, float]] = {}
        self._followed: OrderedDict[int, FindingRunner] = OrderedDict()
        self._thread: threading.Thread | None = None

    def grew(self, count: Count) -> None:
        """Have the session looked at when it is quiet. Where turns moved that the rules have seen, they begin anew."""
        now = time.monotonic()
        with self._lock:
            followed = self._followed.get(count.session_id)
            if followed is not None and followed.changed == count.before and not count.moved:
                followed.changed = count.changed
            else:
                self._followed.pop(count.session_id, None)
            first, _ = self._waiting.get(count.session_id, (now, now))
            self._waiting[count.session_id] = (first, now)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="findings of live sessions", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while (session_id := self._next()) is not None:
            if session_id < 0:
                time.sleep(QUIET / 4)
                continue
            begun = time.thread_time()
            try:
                self._look(session_id)
            except sa.exc.SQLAlchemyError as error:
                _log.warning("the findings of session %s wait for its next growth: %s", session_id, error)
            rest(PAUSE * (time.thread_time() - begun))

    def _next(self) -> int | None:
        """A session that is due, which then waits no longer; -1 where all must wait; None, and the end, for none.

        While many are half read no others are begun, so that each comes to its end.
        """
        now = time.monotonic()
        with self._lock:
            full = sum(session_id in self._followed for session_id in self._waiting) >= MOST_FOLLOWED
            for session_id, (first, last) in self._waiting.items():
                due = now - last >= QUIET or now - first >= LONGEST
                if due and (not full or session_id in self._followed):
                    del self._waiting[session_id]
                    return session_id
            if not self._waiting:
                self._thread = None
                return None
        return -1

    def _look(self, session_id: int) -> None:
        """Have the rules see some more turns of a session, and keep what they found once they have seen all."""
        followed = self._follow(session_id)
        if followed is None:
            return
        with self._engine.connect() as connection:
            more = followed.read(connection)
        if more or not self._keep(session_id, followed):
            with self._lock:  # it waits again, behind the others, and is due at once
                self._waiting.setdefault(session_id, (float("-inf"), float("-inf")))

    def _follow(self, session_id: int) -> FindingRunner | None:
        """The rules over the session, from the start where nothing of them is kept; None where it is gone."""
        with self._lock:
            followed = self._followed.get(session_id)
        if followed is None:
            with self._writing, self._engine.connect() as connection:
                followed = finding_runner.runner_for(connection, session_id)
                if followed is not None:
                    self._hold(session_id, followed)
        return followed

    def _hold(self, session_id: int, followed: FindingRunner) -> None:
        with self._lock:
            self._followed[session_id] = followed
            idle = [session for session in self._followed if session not in self._waiting and session != session_id]
            for idle_id in idle[: max(0, len(self._followed) - MOST_FOLLOWED)]:
                del self._followed[idle_id]

    def _keep(self, session_id: int, followed: FindingRunner) -> bool:
        """Keep what the rules found; False where they have not seen all, or saw what has changed since.

        Nothing grows the session meanwhile in this process; that nothing did in another, `changed` says.
        """
        with self._writing:
            with self._engine.connect() as connection:
                if followed.read(connection) or not self._is_same(connection, session_id, followed):
                    return False
                findings = followed.findings()
                if finding_runner.is_stored(connection, session_id, findings):
                    return True
            with database.writing(self._engine) as connection:
                if not self._is_same(connection, session_id, followed, _changed_until_end):
                    return False
                finding_runner.replace(connection, session_id, findings)
                changed = connection.execute(find_changed, {"session": session_id}).scalar_one()
            self._renewed(session_id, followed.changed, changed, finding_counts(findings))
            followed.changed = changed
        return True

    def _is_same(
        self, connection: sa.Connection, session_id: int, followed: FindingRunner, query: sa.Select[int] = find_changed
    ) -> bool:
        """Whether the rules know the session as it is; else they begin anew."""
        with self._lock:
            good = self._followed.get(session_id) is followed
            if good and connection.scalar(query, {"session": session_id}) != followed.changed:
                del self._followed[session_id]
                return False
        return good

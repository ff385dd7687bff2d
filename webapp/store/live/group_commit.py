"""Lets requests commit together: who waits for the database's one writer is written along with who goes first."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store import derive
from webapp.store.db import database
from webapp.store.live import growth, logs
from webapp.store.live.logs import ArrivedLog
from webapp.store.live.lookup import routed
from webapp.store.live.spans import Arrived

MOST_WAITING = 50_000
"""Spans of requests that wait; more are asked to come again."""
_LIVE = 0x4C495645  # an arbitrary number of our own for PostgreSQL's advisory lock


class Busy(RuntimeError):
    """Too much waits already; the exporter sends it again."""


@dataclass(slots=True, eq=False)
class _Ticket:
    spans: list[Arrived]
    size: int
    logs: list[ArrivedLog] = field(default_factory=list)
    finished: bool = False
    error: BaseException | None = None


class Gate:
    """One a process. `take` comes back only when its spans are committed."""

    def __init__(self, engine: sa.Engine, settings: Settings) -> None:
        self._engine = engine
        self._home = settings.home
        self._waiting: list[_Ticket] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()

    def take(self, spans: list[Arrived], size: int, logged: Sequence[ArrivedLog] = ()) -> None:
        """Store `spans` and what was `logged` in a request of `size` bytes, and note on each what became of it.

        Raises `Busy`, and what the database raises: nothing of the request is stored then.
        """
        ticket = _Ticket(spans, size, list(logged))
        with self._lock:
            if sum(len(waits.spans) + len(waits.logs) for waits in self._waiting) > MOST_WAITING:
                raise Busy("too many spans wait to be written")
            self._waiting.append(ticket)
        with self._writing:
            if not ticket.finished:
                self._lead(ticket)
        if ticket.error is not None:
            raise ticket.error

    def show_overdue(self) -> None:
        """Show the log records whose span never came; for nothing, where none waits too long."""
        with self._engine.connect() as connection:
            waits = logs.some_overdue(connection, datetime.now(UTC) - logs.WAIT)
        if waits:
            self.take([], 0)

    def _lead(self, leader: _Ticket) -> None:
        """Write all that waits; where that is interrupted, the others wait on for who leads next."""
        with self._lock:
            tickets, self._waiting = self._waiting, []
        try:
            self._write(tickets)
        except BaseException:
            with self._lock:
                self._waiting[:0] = [ticket for ticket in tickets if ticket is not leader and not ticket.finished]
            raise

    def _write(self, tickets: list[_Ticket]) -> None:
        """All in one transaction; where that fails, one by one, so that nobody fails for somebody else."""
        try:
            self._commit(tickets)
        except Exception as error:  # noqa: BLE001 - handed on to the request that waits for it
            if len(tickets) == 1:
                tickets[0].error = error
            else:
                for ticket in tickets:
                    self._write([ticket])
        for ticket in tickets:
            ticket.finished = True

    def _commit(self, tickets: list[_Ticket]) -> None:
        spans = [span for ticket in tickets for span in ticket.spans]
        for span in spans:
            span.refused, span.repeated = None, False
        with database.writing(self._engine) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LIVE)))
            dump_id = growth.dump_of_today(connection)
            logged = [log for ticket in tickets for log in ticket.logs]
            late = logs.kept(connection, logged)
            logs.attach(connection, spans)
            late += logs.overdue(connection, datetime.now(UTC) - logs.WAIT)
            counts = growth.grow(connection, routed(connection, [*spans, *late]), dump_id, self._home)
            growth.count_arrivals(
                connection, dump_id, [*spans, *logged], counts, sum(ticket.size for ticket in tickets)
            )
        derive.grown(self._engine, [count.session_id for count in counts if not count.new])

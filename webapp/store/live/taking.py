"""Stores the spans and log records of a request in one transaction, and shows records whose span never came."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store import derive
from webapp.store.db import database
from webapp.store.db.dialect import take_locks
from webapp.store.live import growth, logs
from webapp.store.live.logs import ArrivedLog
from webapp.store.live.lookup import routed
from webapp.store.live.spans import Arrived

_LIVE = 0x4C495645  # an arbitrary number of our own for PostgreSQL's advisory lock


def take(
    engine: sa.Engine, settings: Settings, spans: Sequence[Arrived], size: int, logged: Sequence[ArrivedLog] = ()
) -> None:
    """Store `spans` and what was `logged` in a request of `size` bytes, and note on each what became of it.

    Raises what the database raises: nothing of the request is stored then.
    """
    with database.writing(engine) as connection:
        take_locks(connection, _LIVE)
        dump_id = growth.dump_of_today(connection)
        late = logs.kept(connection, logged)
        logs.attach(connection, spans)
        late += logs.overdue(connection, datetime.now(UTC) - logs.WAIT)
        counts = growth.grow(connection, routed(connection, [*spans, *late]), dump_id, settings.home)
        growth.count_arrivals(connection, dump_id, [*spans, *logged], counts, size)
    derive.grown(engine, [count.session_id for count in counts if not count.new])


def show_overdue(engine: sa.Engine, settings: Settings) -> None:
    """Show the log records whose span never came; for nothing, where none waits too long."""
    with engine.connect() as connection:
        waits = logs.some_overdue(connection, datetime.now(UTC) - logs.WAIT)
    if waits:
        take(engine, settings, [], 0)

"""Workers as processes of their own, as `fencepost work` starts them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import orm

from tests import forking
from tests.forking import ForkedProcess
from tests.until import until
from webapp.config import Settings

ROOT = Path(__file__).resolve().parents[3]
WORK = "from webapp.cli import main; main(prog_name='fencepost')"
TCP, ESTABLISHED = Path("/proc/net/tcp"), "01"


def start(settings: Settings, *options: str) -> ForkedProcess:
    """`fencepost work` with these options, whose standard input stays open; the caller ends it."""
    environ = {**os.environ, **settings.environment(), "PYTHONPATH": str(ROOT)}
    return forking.script(WORK, "work", *options, environ=environ)


def disconnected(engine: sa.Engine) -> None:
    """Wait until PostgreSQL has ended what it did for processes that are gone: it may go on to commit after a kill."""
    if engine.dialect.name == "postgresql" and TCP.exists():
        until(lambda: not _client_ports(engine) - _open_ports())


def _client_ports(engine: sa.Engine) -> set[int]:
    """Of all connections to the database, as the server knows them."""
    with engine.connect() as connection:
        query = "SELECT client_port FROM pg_stat_activity WHERE datname = current_database() AND client_port > 0"
        return set(connection.exec_driver_sql(query).scalars())


def _open_ports() -> set[int]:
    """The local ports of all connections that a process of this machine still has."""
    rows = (line.split() for line in TCP.read_text().splitlines()[1:])
    return {int(local.rpartition(":")[2], 16) for _, local, _, state, *_ in rows if state == ESTABLISHED}


def handles(process: ForkedProcess, number: signal.Signals) -> bool:
    """Whether the process has its own answer to the signal: one that is still starting would be ended by it."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():  # no Linux
        return True
    (caught,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> number - 1 & 1)


@contextmanager
def ending(process: ForkedProcess) -> Iterator[ForkedProcess]:
    """The process, killed in the end whatever happens."""
    with process:
        try:
            yield process
        finally:
            process.kill()


def somebody_waits(db: orm.Session) -> bool:
    """Whether a transaction of this PostgreSQL database waits for another one."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    waiting = db.scalar(sa.text(query))
    db.rollback()
    return bool(waiting)

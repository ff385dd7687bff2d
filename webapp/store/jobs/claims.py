"""Who works at what: a row is claimed by one conditional update, and only who is silent for long loses it.

On PostgreSQL any number of workers, on any number of machines, claim rows. On SQLite, which is one machine's, one
worker at a time holds a lock of the data folder, so that what another one left running is known to be left.
"""

from __future__ import annotations

import os
import secrets
import socket
from typing import Any

import sqlalchemy as sa

from webapp.store.db import clock
from webapp.store.models import Job, RunChunk

BEAT = 1.0
"""seconds between two signs of life of a worker"""
STALE = 30.0
"""seconds without one, by the database's clock, after which what a worker had is anybody's"""
_HOST = 60
"""characters of a machine's name"""


def new_owner() -> str:
    """A name for this worker that nobody else has: its machine, its process and a few random letters."""
    return f"{socket.gethostname()[:_HOST]}:{os.getpid()}:{secrets.token_hex(4)}"


def is_shared(engine: sa.Engine) -> bool:
    """Whether several workers may claim rows of this database at once."""
    return engine.dialect.name == "postgresql"


def claimed_by(owner: str, row: type[Job] | type[RunChunk]) -> dict[str, Any]:
    """The columns of a row that `owner` claims; of one that was running a worker died over it."""
    tries = row.tries + sa.case((row.state == "running", 1), else_=0)
    return {"state": "running", "owner": owner, "tries": tries, "beat_at": clock.now()}


def is_left(engine: sa.Engine, beat_at: Any) -> sa.ColumnElement[bool]:
    """For a row that is running: whether its worker is gone. On SQLite only the one worker may ask."""
    return sa.or_(beat_at.is_(None), beat_at < clock.ago(STALE)) if is_shared(engine) else sa.true()

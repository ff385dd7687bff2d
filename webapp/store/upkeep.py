"""What a server does beside its requests: reads the index before anybody asks, removes what was deleted long ago."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import sqlalchemy as sa

from webapp.store import deletion, index

_EVERY = 600.0
"""seconds"""


def start(engine: sa.Engine) -> threading.Thread:
    """The thread that does it; it ends with the process."""
    thread = threading.Thread(target=_keep, args=(engine,), name="upkeep", daemon=True)
    thread.start()
    return thread


def _keep(engine: sa.Engine) -> None:
    index.warm(engine)
    while True:
        with suppress(sa.exc.OperationalError):  # somebody else writes for long, or the disk is full: next time then
            deletion.purge(engine)
        time.sleep(_EVERY)

"""Who may read a dump: one process at a time; on PostgreSQL as many dumps at once as there are connections for."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.db import locks
from webapp.store.db.database import MORE
from webapp.store.ingest import dump_files

_LOOK = 0.1
"""seconds between two looks whether somebody else still reads a dump, and whether to wait on"""


def alone(engine: sa.Engine, settings: Settings, sha256: str) -> AbstractContextManager[bool]:
    """Hold the lock on one dump without waiting; False where another process holds it. A killed one lets go of it."""
    if engine.dialect.name == "postgresql":
        return locks.alone(engine, f"dump {sha256}")
    return dump_files.alone(settings.data, sha256)


@contextmanager
def reading(
    engine: sa.Engine, settings: Settings, sha256: str, on_wait: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Hold the lock on one dump; who comes second waits, and `on_wait` is called meanwhile, which may raise."""
    while True:
        with alone(engine, settings, sha256) as is_mine:
            if is_mine:
                yield
                return
        on_wait()
        time.sleep(_LOOK)


EACH = 3
"""connections that reading a dump uses at once: its lock, one that reads what is stored, one that writes"""
LEFT = 3
"""connections that are left to everything else"""
_slots: weakref.WeakKeyDictionary[sa.Engine, threading.Semaphore] = weakref.WeakKeyDictionary()
_guard = threading.Lock()


@contextmanager
def slot(engine: sa.Engine, on_wait: Callable[[], None]) -> Iterator[None]:
    """Wait until a dump may be read, holding no connection; `on_wait` is called meanwhile, which may raise."""
    if not isinstance(engine.pool, sa.QueuePool) or engine.dialect.name == "sqlite":
        yield
        return
    slots = _slots_of(engine, engine.pool)
    while not slots.acquire(timeout=_LOOK):
        on_wait()
    try:
        yield
    finally:
        slots.release()


def _slots_of(engine: sa.Engine, pool: sa.QueuePool) -> threading.Semaphore:
    with _guard:
        if engine not in _slots:
            _slots[engine] = threading.Semaphore(max(1, (pool.size() + MORE - LEFT) // EACH))
        return _slots[engine]

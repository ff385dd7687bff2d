"""How many dumps a process reads at once: on PostgreSQL, as many as its pool has connections for; others wait."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from webapp.store.db.database import MORE

EACH = 3
"""connections that reading a dump uses at once: its lock, one that reads what is stored, one that writes"""
LEFT = 3
"""connections that are left to everything else"""
_LOOK = 0.1
"""seconds after which who waits is asked whether to go on"""
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

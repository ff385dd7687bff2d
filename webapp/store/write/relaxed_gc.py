"""Has Python look for reference cycles less often while a great many objects are made that are in none."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = (50_000, 20, 100)
"""allocations between two looks at the youngest objects, and how many of these before the older ones; a look at all
objects, with a few sessions in memory, takes a tenth of a second"""
_lock = threading.Lock()
_users = 0
_before = gc.get_threshold()


@contextmanager
def seldom() -> Iterator[None]:
    """Within this, in any thread, cycles are looked for seldom."""
    global _users, _before
    with _lock:
        if _users == 0:
            _before = gc.get_threshold()
            gc.set_threshold(*_SELDOM)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                gc.set_threshold(*_before)

"""Hands prepared sessions to a thread that writes them, while the next ones are read and prepared.

The database does its work outside of Python's lock, so both get on at once. One batch is written at a time.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from webapp.store.writing import Prepared

MOST_BYTES = 1024 * 1024
"""of prepared sessions that are written together, about"""
MOST_SESSIONS = 64
MOST_SECONDS = 0.25
"""how long a prepared session waits at most for others"""
_MOST_BEHIND = 2
"""batches that are written or wait for it, before whoever prepares waits too"""


class Pipeline:
    """`write` is called in the thread and gives back what it did not write: that comes out of `put` and `drain`.

    What it raises comes out of them too, once, and nothing is written after it. `close` ends the thread.
    """

    def __init__(self, write: Callable[[list[Prepared]], list[Prepared]]) -> None:
        self._write = write
        self._gathered: list[Prepared] = []
        self._size = 0
        self._since = 0.0
        self._behind: deque[Future[list[Prepared]]] = deque()
        self._thread: ThreadPoolExecutor | None = None
        self._failed = False

    def put(self, prepared: Prepared) -> list[Prepared]:
        """Have a session written soon."""
        if not self._gathered:
            self._since = time.monotonic()
        self._gathered.append(prepared)
        self._size += prepared.size
        if self._size < MOST_BYTES and len(self._gathered) < MOST_SESSIONS and not self._is_late():
            return []
        self._send()
        return self._written(_MOST_BEHIND)

    def drain(self) -> list[Prepared]:
        """Wait until all that was put is written."""
        if not self._gathered:
            return self._written(0)
        if self._thread is None:  # all of it is one batch: no thread is needed
            return self._write_unless_failed(self._taken())
        self._send()
        return self._written(0)

    def close(self) -> list[Prepared]:
        """Write all that was put, unless that failed before, and end."""
        try:
            return [] if self._failed else self.drain()
        finally:
            if self._thread is not None:
                self._thread.shutdown()

    def _is_late(self) -> bool:
        return time.monotonic() - self._since > MOST_SECONDS

    def _send(self) -> None:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "writes sessions")
        self._behind.append(self._thread.submit(self._write_unless_failed, self._taken()))

    def _taken(self) -> list[Prepared]:
        gathered, self._gathered, self._size = self._gathered, [], 0
        return gathered

    def _write_unless_failed(self, prepared: list[Prepared]) -> list[Prepared]:
        if self._failed:
            return []
        try:
            return self._write(prepared)
        except BaseException:
            self._failed = True
            raise

    def _written(self, behind: int) -> list[Prepared]:
        """What came back of all but the last `behind` batches."""
        left: list[Prepared] = []
        while len(self._behind) > behind or (self._behind and self._behind[0].done()):
            wait([self._behind[0]])
            left += self._behind.popleft().result()
        return left

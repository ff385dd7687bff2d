"""Prepares short new sessions batch by batch, some of them in a process beside this one, and hands them on in order."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from webapp.store.ingest.helper_process import Helper, processors
from webapp.store.write.session_rows import NewSession, SessionInput, new_session

MOST_BYTES = 512 * 1024
"""characters of sessions that are prepared together, about …"""
MOST_BYTES_A_COMMIT = 3 * MOST_BYTES
"""… and where each batch is a transaction of its own, whose commit waits for the disk"""
MOST_SESSIONS = 64
MOST_SECONDS = 0.25
"""how long a session waits at most for others"""
HELPED = 4 * 1024 * 1024
"""bytes of a dump from which on a second process is worth its start"""
_MOST_BEHIND = 8
"""batches that wait for the helper's oldest one"""

ReadyBatch = list[tuple[SessionInput, NewSession | None]]
"""Sessions with their rows; all of them without where they are known, so that their turns go to what is stored."""
Known = Callable[[Iterable[str]], set[str]]
"""those ids of which sessions are stored"""


class Pipeline:
    """`put` and `rest` give batches that are ready to be written, in the order in which their sessions were put.

    Use as a context manager, which ends the helper.
    """

    def __init__(self, folder: Path, size: int, known: Known, most_bytes: int = MOST_BYTES) -> None:
        """A dump of `size` bytes; the helper's files go into `folder`."""
        self._known, self._most_bytes = known, most_bytes
        self._helper: Helper | None = None
        if size >= HELPED and processors() > 1 and sys.platform != "win32":  # where pipes cannot be looked at
            with suppress(OSError):
                self._helper = Helper(folder)
        self._gathered: list[SessionInput] = []
        self._size = 0
        self._since = 0.0
        self._batches: deque[tuple[list[SessionInput], Sequence[NewSession | None] | None]] = deque()
        """in order; None stands for what the helper has not answered, a list of it for sessions that are known"""

    def put(self, session: SessionInput) -> Iterator[ReadyBatch]:
        """Take a session in."""
        if not self._gathered:
            self._since = time.monotonic()
        self._gathered.append(session)
        self._size += sum(len(turn.raw or "") + 500 for turn in session.turns)
        late = time.monotonic() - self._since > MOST_SECONDS
        if self._size >= self._most_bytes or len(self._gathered) >= MOST_SESSIONS or late:
            self._begin()
            yield from self._ready(_MOST_BEHIND)

    def rest(self) -> Iterator[ReadyBatch]:
        """All that was put and did not come yet."""
        if self._gathered:
            self._begin()
        yield from self._ready(0)

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self._lose()

    def _begin(self) -> None:
        gathered, self._gathered, self._size = self._gathered, [], 0
        stored_ids = self._known(session.start.external_id for session in gathered)
        for is_known, group in groupby(gathered, lambda session: session.start.external_id in stored_ids):
            batch = list(group)
            if is_known:
                self._batches.append((batch, [None] * len(batch)))
            else:
                self._batches.append((batch, None if self._given_away(batch) else _prepared(batch)))

    def _given_away(self, batch: list[SessionInput]) -> bool:
        """Whether the helper took the batch."""
        if self._helper is None:
            return False
        try:
            if not self._helper.is_free:
                return False
            self._helper.give(batch)
        except RecursionError:
            return False
        except OSError:
            self._lose()
            return False
        return True

    def _ready(self, behind: int) -> Iterator[ReadyBatch]:
        """The batches at the front that are prepared; waits for the helper where more than `behind` are there."""
        while self._batches:
            batch, prepared = self._batches[0]
            if prepared is None:
                waits = len(self._batches) > behind
                if waits and self._took_back():
                    continue
                prepared = self._answer(wait=waits)
            if prepared is None and self._helper is not None:
                return
            self._batches.popleft()
            yield list(zip(batch, prepared or _prepared(batch), strict=True))

    def _took_back(self) -> bool:
        """Whether there was something to prepare here while the helper is at its oldest batch: its newest."""
        if self._helper is None or not self._helper.take_back():
            return False
        at = max(at for at, (_, prepared) in enumerate(self._batches) if prepared is None)
        batch, _ = self._batches[at]
        self._batches[at] = (batch, _prepared(batch))
        return True

    def _answer(self, *, wait: bool) -> list[NewSession] | None:
        """What the helper made of its oldest batch."""
        if self._helper is None:
            return None
        try:
            return self._helper.take(wait=wait)
        except OSError:
            self._lose()
            return None

    def _lose(self) -> None:
        """Go on without the helper: what it has not answered is prepared here."""
        if self._helper is not None:
            self._helper.close()
            self._helper = None


def _prepared(batch: list[SessionInput]) -> list[NewSession]:
    return [new_session(session) for session in batch]

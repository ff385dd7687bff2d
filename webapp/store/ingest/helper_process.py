"""A process beside this one that prepares sessions, so that a large dump is read and written by two processors.

Batches go to it and come back as files, names as lines: neither side ever waits for the other to read. What it has not
begun can be taken back. It ends when its input does, also where this process is killed. Whatever goes wrong with it,
the work is done here instead.
"""

from __future__ import annotations

import os
import pickle
import select
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from contextlib import suppress
from pathlib import Path

from webapp.store.write.session_rows import DONE, READY, NewSession, SessionInput

_MOST_WAITING = 5
"""batches that are with the helper: one that it works on, and enough for as long as a commit may take"""
_START = "import sys; sys.path[:] = {path!r}; from webapp.store.write.session_rows import main; main()"


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Helper:
    """Answers come in the order of what was given. `close` ends the process and removes what it left."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="prepare-", dir=folder))
        self._waiting: deque[str] = deque()
        self._count = 0
        self._runs = False
        command = [sys.executable, "-c", _START.format(path=sys.path), str(self._folder)]
        self._process = subprocess.Popen(  # noqa: S603
            command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout

    @property
    def is_free(self) -> bool:
        """Whether it takes another batch; not before it runs."""
        if not self._runs and self._has_said:
            self._runs = self._out.readline() == READY.encode()
        return self._runs and len(self._waiting) < _MOST_WAITING

    @property
    def _has_said(self) -> bool:
        return bool(select.select([self._out], [], [], 0)[0])

    def give(self, batch: list[SessionInput]) -> None:
        """Have a batch prepared. Raises `OSError`, and `RecursionError` where a turn is nested too deeply."""
        name = str(self._count)
        self._count += 1
        (self._folder / name).write_bytes(pickle.dumps(batch, pickle.HIGHEST_PROTOCOL))
        self._in.write(f"{name}\n".encode())
        self._waiting.append(name)

    def take(self, *, wait: bool) -> list[NewSession] | None:
        """The next answer; None where there is none yet and nobody waits. Raises `OSError` where there will be none."""
        if not wait and not self._has_said:
            return None
        name = self._waiting.popleft()
        if self._out.readline() != f"{name}\n".encode():
            raise OSError("the process that prepares sessions ended")
        done_file = self._folder / f"{name}{DONE}"
        prepared: list[NewSession] = pickle.loads(done_file.read_bytes())  # noqa: S301
        done_file.unlink()
        return prepared

    def take_back(self) -> bool:
        """Whether what was given last is not begun yet, and so is not answered any more."""
        if len(self._waiting) < 2 or self._has_said:
            return False
        try:
            (self._folder / self._waiting[-1]).unlink()
        except FileNotFoundError:
            return False
        self._waiting.pop()
        return True

    def close(self) -> None:
        with suppress(OSError):
            self._in.close()
        self._out.close()
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

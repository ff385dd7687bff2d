"""`fencepost ingest --watch`: reads new and growing files until interrupted, and leaves out a line half written."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from webapp.commands import _found
from webapp.commands._reading import Reader, Result

RESTLESS = 5
"""looks after which a file of lines is read though it never rests"""
FINAL = 30
"""looks after which a file that rests is read to its end, a line cut there included"""
SHARE = 10
"""a file is read again no sooner than after this many times what its last reading took"""
_BLOCK = 64 * 1024
_LONGEST_LINE = 64 * 1024 * 1024


class Look(NamedTuple):
    """What a look at a file costs: its size in bytes and when it was changed, in nanoseconds."""

    size: int
    changed: int


@dataclass(slots=True)
class Known:
    """A file that is watched: the last look, how many looks it has been the same or never, and what was read of it."""

    look: Look
    same: int = 0
    restless: int = 0
    read: Look | None = None
    cut: bool = False
    not_before: float = 0.0


class Watch:
    """Looks at the files below `arguments`; `poll` reads those that rest and were not read as they are."""

    def __init__(self, reader: Reader, arguments: Sequence[str], interval: float) -> None:
        self._reader = reader
        self._arguments = arguments
        self._interval = interval
        self._known: dict[str, Known] = {}

    def forever(self) -> Iterator[Result]:
        """What comes of each file that is read, until something is raised."""
        while True:
            yield from self.poll()
            time.sleep(self._interval)

    def poll(self) -> Iterator[Result]:
        there = set()
        for file in _found.find(self._arguments):
            if (look := _look(file.path)) is None or file.path in there:
                continue
            there.add(file.path)
            known = self._seen(file.path, look)
            if self._is_due(known) and (result := self._read(file, known)) is not None:
                yield result
        for path in self._known.keys() - there:
            del self._known[path]

    def _seen(self, path: str, look: Look) -> Known:
        known = self._known.get(path)
        if known is None:
            old = time.time() - look.changed / 1e9 > self._interval
            known = self._known[path] = Known(look, same=1 if old else 0)
        elif known.look == look:
            known.same += 1
            known.restless = 0
        else:
            known.look, known.same = look, 0
            known.restless += 1
        return known

    def _is_due(self, known: Known) -> bool:
        if known.look.size == 0 or time.monotonic() < known.not_before:
            return False
        if known.read == known.look:
            return known.cut and known.same >= FINAL
        return known.same >= 1 or known.restless >= RESTLESS

    def _read(self, file: _found.Found, known: Known) -> Result | None:
        """None where there is nothing to say: the file went away, is not whole yet, or is no dump, as before."""
        final = known.same >= FINAL
        limit = None if final else _whole_lines(file.path)
        if known.same == 0 and limit is None:
            return None
        known.cut = limit is not None and limit < known.look.size
        again, known.read, known.restless = known.read is not None, known.look, 0
        if limit == 0:
            return None
        began = time.monotonic()
        result = self._reader.read(replace(file, asked=False), limit)
        known.not_before = time.monotonic() + SHARE * (time.monotonic() - began)
        gone = result.error is not None and _look(file.path) is None
        return None if gone or (again and result.skipped is not None) else result


def _look(path: str) -> Look | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return Look(found.st_size, found.st_mtime_ns)


def _whole_lines(path: str) -> int | None:
    """How many bytes of a file of JSON lines are whole lines; None for every other file, a compressed one too."""
    try:
        with Path(path).open("rb") as file:
            first = file.readline(_LONGEST_LINE)
            if not first.endswith(b"\n") or not isinstance(_value(first), dict):
                return None
            return _end_of_lines(file, len(first))
    except OSError:
        return None


def _end_of_lines(file: BinaryIO, first: int) -> int | None:
    """The end of the last whole line behind byte `first`: of one that ends in a line feed, or is JSON without it."""
    start, tail = file.seek(0, 2), b""
    while start > first and b"\n" not in tail:
        if len(tail) > _LONGEST_LINE:
            return None
        count = min(max(_BLOCK, len(tail)), start - first)
        start -= count
        file.seek(start)
        tail = file.read(count) + tail
    end = tail.rfind(b"\n") + 1
    rest = tail[end:]
    return start + (len(tail) if not rest.strip() or _value(rest) is not None else end)


def _value(data: bytes) -> Any:
    """The JSON value, None where it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


@contextmanager
def until_stopped(say: Callable[[], None]) -> Iterator[None]:
    """Ends the block without an error at SIGINT and SIGTERM; what is being stored is stored whole or not at all."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        say()
    finally:
        signal.signal(signal.SIGTERM, before)

"""`fencepost ingest --watch`: reads new and growing files until interrupted, and leaves out a line half written."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO, NamedTuple

from webapp.commands import _arguments
from webapp.commands._file_reader import FileReader, FileResult
from webapp.dumps.budget import MOST_CHARACTERS
from webapp.store import append
from webapp.store.db.dialect import clock

FINAL = 30
"""looks after which a file that rests is read to its end, a line cut there included"""
SHARE = 10
"""a file is read again no sooner than after this many times the processor time that its last reading took: to wait for
a database or for a busy machine costs nothing"""
RECENT = 300
"""seconds since a file was written, up to which its program may still be running"""
_BLOCK = 64 * 1024


class FileState(NamedTuple):
    """What a look at a file costs: its size in bytes and when it was changed, in nanoseconds."""

    size: int
    changed: int


@dataclass(slots=True)
class WatchedFile:
    """A file that is watched: the last look, how many looks it has been the same, and what was read of it."""

    look: FileState
    same: int = 0
    last_read: FileState | None = None
    read_to: int = 0
    not_before: float = 0.0


class FolderWatch:
    """Looks at the files below `arguments`; `poll` reads what was not read as it is: lines, and other files at rest."""

    def __init__(self, reader: FileReader, arguments: Sequence[str], interval: float) -> None:
        self._reader = reader
        self._arguments = arguments
        self._interval = interval
        self._known: dict[str, WatchedFile] = {}

    def until(self, stop_requested: Event) -> Iterator[FileResult]:
        """What comes of each file that is read, until the event is set or something is raised."""
        while not stop_requested.is_set():
            yield from self.poll()
            time.sleep(self._interval)

    def poll(self) -> Iterator[FileResult]:
        present = set()
        for file in _arguments.find(self._arguments):
            if (look := _look(file.path)) is None or file.path in present:
                continue
            present.add(file.path)
            record = self._seen(file.path, look)
            if self._is_due(record) and (result := self._read(file, record)) is not None:
                yield result
        for path in self._known.keys() - present:
            del self._known[path]

    def _seen(self, path: str, look: FileState) -> WatchedFile:
        record = self._known.get(path)
        if record is None:
            old = time.time() - look.changed / 1e9 > self._interval
            record = self._known[path] = WatchedFile(look, same=1 if old else 0)
        elif record.look == look:
            record.same += 1
        else:
            record.look, record.same = look, 0
        return record

    def _is_due(self, record: WatchedFile) -> bool:
        if record.look.size == 0 or time.monotonic() < record.not_before:
            return False
        if record.last_read == record.look:
            return record.read_to < record.look.size and record.same >= FINAL
        return True

    def _read(self, file: _arguments.InputFile, record: WatchedFile) -> FileResult | None:
        """None where there is nothing to say: the file went away, is not whole yet, or is no dump, as before."""
        limit = None if record.same >= FINAL else _whole_lines(file.path)
        if record.same == 0 and limit in (None, record.read_to):
            return None
        record.read_to = record.look.size if limit is None else limit
        again, record.last_read = record.last_read is not None, record.look
        if limit == 0:
            return None
        began = _processor_time()
        result = self._read_live(replace(file, is_named=False), limit, record.look)
        record.not_before = time.monotonic() + SHARE * (_processor_time() - began)
        is_gone = result.error is not None and _look(file.path) is None
        return None if is_gone or (again and result.skipped is not None) else result

    def _read_live(self, file: _arguments.InputFile, limit: int | None, look: FileState) -> FileResult:
        """Read a file; sessions of one that was written a moment ago count as growing while somebody looks at them."""
        engine = self._reader.engine
        before = clock()
        result = self._reader.read(file, limit)
        is_recent = time.time() - look.changed / 1e9 < RECENT
        if engine is not None and is_recent and result.ingested is not None and result.ingested.created:
            append.mark_watched(engine, result.ingested.keys, before)
        return result


def _processor_time() -> float:
    """Seconds, of this process and of those that helped it."""
    return sum(os.times()[:4])


def _look(path: str) -> FileState | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return FileState(status.st_size, status.st_mtime_ns)


def _whole_lines(path: str) -> int | None:
    """How many bytes of a file of JSON lines are whole lines; None for every other file, a compressed one too."""
    try:
        with Path(path).open("rb") as file:
            first = file.readline(MOST_CHARACTERS)
            if not first.endswith(b"\n") or not isinstance(_value(first), dict):
                return None
            return _end_of_lines(file, len(first))
    except OSError:
        return None


def _end_of_lines(file: BinaryIO, first: int) -> int | None:
    """The end of the last whole line behind byte `first`: of one that ends in a line feed, or is JSON without it."""
    start, tail = file.seek(0, 2), b""
    while start > first and b"\n" not in tail:
        if len(tail) > MOST_CHARACTERS:
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

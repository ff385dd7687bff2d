"""Grows the sessions of a file by the lines that were added to it, where all that was read before is unchanged.

That is so where the hash of the earlier bytes is the same; of a file that is watched, where it is the same file and
its last stretch before the added lines is the same. Else the whole file is read, as files of other kinds are.
"""

from __future__ import annotations

import io
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import BinaryIO

import sqlalchemy as sa

from webapp import dumps as readers
from webapp.config import Settings
from webapp.dumps.answer_alarm import MOST_NAMED
from webapp.dumps.head import HEAD, SAMPLES
from webapp.dumps.read_tail import FileTail, ReadTail
from webapp.dumps.records import Problem
from webapp.dumps.source import ReadsOtherwise
from webapp.dumps.spool import Spooled, WrittenBytes, spool
from webapp.dumps.tail_reading import MOST_ADDED
from webapp.saved_state import NotSaved
from webapp.store.db import database, disk_full
from webapp.store.ingest import dump_files, dump_locks, growing, kept_dumps
from webapp.store.ingest.added_lines import AddedLines
from webapp.store.ingest.result import IngestResult

MOST_FILES = 32
"""files that are remembered; those that grew longest ago are forgotten"""


@dataclass(slots=True)
class FileBytes:
    """What was read of a file: hash, size and end."""

    written: WrittenBytes
    sha256: str
    identity: tuple[int, int] | None = None
    """device and number of a file that is watched"""


class GrowingFiles:
    """The files of one database by their names. Who grows one takes it, and puts it back once that is committed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[str, FileBytes] = OrderedDict()

    def get(self, filename: str) -> FileBytes | None:
        with self._lock:
            return self._files.get(filename)

    def take(self, filename: str) -> FileBytes | None:
        with self._lock:
            return self._files.pop(filename, None)

    def put(self, filename: str, file: FileBytes) -> None:
        with self._lock:
            self._files[filename] = file
            self._files.move_to_end(filename)
            while len(self._files) > MOST_FILES:
                self._files.popitem(last=False)


known_files: database.PerEngine[GrowingFiles] = database.PerEngine(GrowingFiles)


def remember(engine: sa.Engine, spooled: Spooled, filename: str, result: IngestResult, tail: ReadTail) -> None:
    """Note where the reading of a dump of lines ended, if the last of them is whole."""
    lines, written = tail.lines, spooled.written
    if lines is None or written is None or result.dump.format is None:
        return
    cut = spooled.problem is not None or not written.last.endswith(b"\n") or b"\0" in written.last
    if cut or len(tail.waiting) > MOST_NAMED:
        with database.writing(engine) as connection:
            growing.forget(connection, result.dump.id)
        return
    _remember_bytes(engine, spooled, filename)
    end = FileTail(
        result.dump.format, lines, list(result.problems), result.dump.problem_count, tail.waiting, tail.short
    )
    for problem in end.said_now():
        end.problem_count -= 1
        if problem in end.problems:
            end.problems.remove(problem)
    with database.writing(engine) as connection:
        growing.put_file(connection, result.dump.id, filename, end)


def changed_beginning(engine: sa.Engine, spooled: Spooled, filename: str) -> Problem | None:
    """What to say where a watched file is no longer what was read of it."""
    file, written = known_files(engine).get(filename), spooled.written
    if file is None or file.identity is None or written is None or written.at_mark == file.sha256:
        return None
    shorter = f"it had {file.written.size:,} bytes" if written.at_mark is None else "other bytes are there now"
    return Problem("byte 0", f"what was read of this file before has changed ({shorter}): all of it was read again")


def grow_spooled(engine: sa.Engine, settings: Settings, spooled: Spooled, filename: str) -> IngestResult | None:
    """Grow the sessions by what a whole file holds beyond what was read of it before; None where it does not go on."""
    written = spooled.written
    if written is None or written.at_mark is None or written.mark is None or spooled.problem is not None:
        return None
    if not 0 < spooled.bytes - written.mark <= MOST_ADDED:
        return None
    return _grow(engine, settings, spooled, filename, written.at_mark, written.mark, 0)


def grow_watched(
    engine: sa.Engine, settings: Settings, stream: BinaryIO, filename: str, limit: int | None
) -> IngestResult | None:
    """The same for an open file, of which only what was added is read, up to byte `limit`."""
    file = known_files(engine).get(filename)
    identity = None if file is None else identity_of(stream)
    if file is None or identity is None or file.identity != identity or not _is_same(stream, file):
        return None
    end = os.fstat(stream.fileno()).st_size if limit is None else limit
    if not 0 < end - file.written.size <= MOST_ADDED or end > settings.max_dump:
        return None
    added = io.BytesIO(stream.read(end - file.written.size))
    with disk_full.in_words():
        spooled = spool(added, dump_files.incoming(settings.data), max_bytes=MOST_ADDED, written=file.written.copy())
    try:
        if spooled.packed is not None or known_files(engine).take(filename) is not file:
            return None
        with dump_locks.reading(engine, settings, spooled.sha256), disk_full.in_words():
            result = _grow(engine, settings, spooled, filename, file.sha256, 0, file.written.size)
        watched(engine, stream, filename)
        return result
    finally:
        spooled.path.unlink(missing_ok=True)


def watched(engine: sa.Engine, stream: BinaryIO, filename: str) -> None:
    """Note which file a dump was read from."""
    if (file := known_files(engine).get(filename)) is not None:
        file.identity = identity_of(stream)


def identity_of(stream: BinaryIO) -> tuple[int, int] | None:
    """Device and number of an open file; None where it has none."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_ino else None


def _is_same(stream: BinaryIO, file: FileBytes) -> bool:
    """Whether the last stretch that was read is unchanged; the stream then stands behind it."""
    stream.seek(max(0, file.written.size - len(file.written.last)))
    return stream.read(len(file.written.last)) == file.written.last


def _grow(
    engine: sa.Engine, settings: Settings, spooled: Spooled, filename: str, sha256: str, start: int, base: int
) -> IngestResult | None:
    """Grow the dump `sha256` by what the spooled file, which begins at byte `base` of it, holds from `start` on."""
    try:
        with dump_locks.reading(engine, settings, sha256), database.writing(engine) as connection:
            stored_file = growing.find_file(connection, sha256)
            if stored_file is None or kept_dumps.find(settings, sha256) is None:
                return None
            dump_id, end = stored_file
            if not _is_recognised(end, spooled, filename, start, base):
                return None
            added = AddedLines(connection, settings, dump_id, end, spooled, filename, start, base)
            result = added.write()
            kept_dumps.extend(settings, sha256, spooled.sha256, spooled.path, start)
    except (ReadsOtherwise, NotSaved):
        return None
    kept_dumps.remove(settings, sha256)
    added.hold_states(engine)
    if added.ends_whole:
        _remember_bytes(engine, spooled, filename)
    return result


def _is_recognised(end: FileTail, spooled: Spooled, filename: str, start: int, base: int) -> bool:
    """Whether the longer file is still one of the same format: of a short one more is looked at now than before."""
    if base + start < HEAD and end.lines.count < SAMPLES:
        return False
    return base > 0 or readers.sniff(spooled.path, filename) == end.format


def _remember_bytes(engine: sa.Engine, spooled: Spooled, filename: str) -> None:
    """Remember how a file that is not packed looks now."""
    if spooled.packed is None and spooled.written is not None:
        file = known_files(engine).get(filename)
        identity = None if file is None else file.identity
        known_files(engine).put(filename, FileBytes(spooled.written, spooled.sha256, identity))

"""Grows the session of a file by the lines that were added to it, where all that was read before is unchanged.

That is so where the hash of the earlier bytes is the same; of a file that is watched, where it is the same file and
its last stretch before the added lines is the same. Else the whole file is read, as files of other kinds are.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import BinaryIO

import sqlalchemy as sa

from webapp import dumps as readers
from webapp.config import Settings
from webapp.dumps.records import Problem, Turn
from webapp.dumps.source import Source
from webapp.dumps.spool import Spooled, spool
from webapp.dumps.tail_reading import MOST_ADDED, added_entries, added_turns, are_of_one_session
from webapp.dumps.turn_reader import ReadTail
from webapp.store import search
from webapp.store.db import database, disk_full
from webapp.store.ingest import dump_files, dump_locks, growing_files, kept_dumps
from webapp.store.ingest.growing_files import GrowingFile
from webapp.store.ingest.result import MOST_PROBLEMS, IngestResult, problem_dict
from webapp.store.models import Dump, DumpSession, Session
from webapp.store.sessions.dumps import line
from webapp.store.write import writing
from webapp.store.write.growth import Stored
from webapp.store.write.state_cache import grown_from_dumps

_END = "the end of the session"
_of_session = (Session.entry_count, Session.turn_count, Session.home_profile, Session.revision)
_find = sa.select(Session.id, Session.external_id, *_of_session).where(
    Session.key == sa.bindparam("key"), Session.deleted_at.is_(None)
)
_find_dump = sa.select(Dump.id, Dump.turn_count, Dump.problem_count).where(
    Dump.id == sa.bindparam("dump"), Dump.sha256 == sa.bindparam("sha256"), Dump.state == "done"
)
_link = sa.update(DumpSession).where(
    DumpSession.dump_id == sa.bindparam("dump"), DumpSession.session_id == sa.bindparam("session")
)


def remember(engine: sa.Engine, spooled: Spooled, filename: str, result: IngestResult, tail: ReadTail) -> None:
    """Note where the reading of a dump ended, if it is lines of one session and the last of them is whole."""
    written = spooled.written
    if tail.reader is None or written is None or len(result.keys) != 1 or result.dump.format is None:
        return
    if spooled.problem or spooled.packed or not written.last.endswith(b"\n") or b"\0" in written.last:
        return
    with engine.connect() as connection:
        row = connection.execute(_find, {"key": result.keys[0]}).one_or_none()
    if row is None or row.external_id != tail.session:
        return
    problems = [problem for problem in result.problems if problem.at not in (_END, _place(tail))]
    file = GrowingFile(
        *(result.dump.id, result.dump.format, tail, written, spooled.sha256, result.keys[0]),
        *(tuple(row[2:]), problems, result.dump.problem_count - len(result.problems) + len(problems)),
    )
    growing_files.of(engine).put(filename, file)


def mark_of(engine: sa.Engine, filename: str) -> int | None:
    """How many bytes of a file were read before: `spool` says the hash of so many."""
    file = growing_files.of(engine).get(filename)
    return None if file is None else file.written.size


def changed_beginning(engine: sa.Engine, spooled: Spooled, filename: str) -> Problem | None:
    """What to say where a watched file is no longer what was read of it."""
    file, written = growing_files.of(engine).get(filename), spooled.written
    if file is None or file.identity is None or written is None or written.at_mark == file.sha256:
        return None
    shorter = f"it had {file.written.size:,} bytes" if written.at_mark is None else "other bytes are there now"
    return Problem("byte 0", f"what was read of this file before has changed ({shorter}): all of it was read again")


def grow_spooled(engine: sa.Engine, settings: Settings, spooled: Spooled, filename: str) -> IngestResult | None:
    """Grow the session by what a whole file holds beyond what was read of it before; None where it does not go on."""
    files = growing_files.of(engine)
    file, written = files.get(filename), spooled.written
    if file is None or written is None or spooled.problem or spooled.packed or written.at_mark != file.sha256:
        return None
    if not 0 < spooled.bytes - file.written.size <= MOST_ADDED or (file := files.take(filename)) is None:
        return None
    return _grow(engine, settings, file, spooled, filename, file.written.size)


def grow_watched(
    engine: sa.Engine, settings: Settings, stream: BinaryIO, filename: str, limit: int | None
) -> IngestResult | None:
    """The same for an open file, of which only what was added is read, up to byte `limit`."""
    file = growing_files.of(engine).get(filename)
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
        if spooled.packed is not None or growing_files.of(engine).take(filename) is not file:
            return None
        with dump_locks.reading(engine, settings, spooled.sha256), disk_full.in_words():
            return _grow(engine, settings, file, spooled, filename, 0)
    finally:
        spooled.path.unlink(missing_ok=True)


def watched(engine: sa.Engine, stream: BinaryIO, filename: str) -> None:
    """Note which file a dump was read from."""
    if (file := growing_files.of(engine).get(filename)) is not None:
        file.identity = identity_of(stream)


def identity_of(stream: BinaryIO) -> tuple[int, int] | None:
    """Device and number of an open file; None where it has none."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_ino else None


def _is_same(stream: BinaryIO, file: GrowingFile) -> bool:
    """Whether the last stretch that was read is unchanged; the stream then stands behind it."""
    stream.seek(max(0, file.written.size - len(file.written.last)))
    return stream.read(len(file.written.last)) == file.written.last


def _grow(
    engine: sa.Engine, settings: Settings, file: GrowingFile, spooled: Spooled, filename: str, start: int
) -> IngestResult | None:
    kind = readers.known_formats()[file.format]
    entries = added_entries(spooled.path, filename, start, file.written.lines)
    stem = Source(io.BytesIO(), filename).stem
    if not entries or not are_of_one_session(kind, file.tail, stem, entries):
        return None
    problems: list[Problem] = []

    def note(problem: Problem) -> None:
        if problem not in file.problems:  # those that waited with the last turns come again
            problems.append(problem)

    turns = _without_problems(added_turns(kind, file.tail, entries), note)
    with dump_locks.reading(engine, settings, file.sha256), database.writing(engine) as connection:
        if (stored := _stored(connection, file)) is None or kept_dumps.find(settings, file.sha256) is None:
            return None
        index = search.Pending()
        outcome = writing.grow(connection, stored, turns, on_problem=problems.append, index=index)
        index.flush(connection)
        kept_dumps.extend(settings, file.sha256, spooled.sha256, spooled.path, start)
        noted_dump = _note(connection, file, spooled, outcome.id, outcome.new_turns, problems)
        dump = line(connection, file.dump_id)
        row = connection.execute(_find, {"key": file.key}).one()
    kept_dumps.remove(settings, file.sha256)
    if outcome.grown is not None:
        grown_from_dumps(engine).put(outcome.grown)
    _go_on(engine, file, spooled, filename, tuple(row[2:]), problems)
    return IngestResult(dump, [row.external_id], [file.key], noted_dump, True, 0, 1, outcome.new_turns)


def _without_problems(records: Iterable[Turn | Problem], note: Callable[[Problem], None]) -> Iterator[Turn]:
    for record in records:
        if isinstance(record, Problem):
            note(record)
        else:
            yield record


def _stored(connection: sa.Connection, file: GrowingFile) -> Stored | None:
    """The session as it was when the file was read; None where it, or its dump, is another now."""
    if file.tail.session is not None:
        writing.lock(connection, file.tail.session)
    row = connection.execute(_find, {"key": file.key}).one_or_none()
    dump = connection.execute(_find_dump, {"dump": file.dump_id, "sha256": file.sha256}).one_or_none()
    if row is None or dump is None or tuple(row[2:]) != file.session:
        return None
    return Stored(row.id, file.key, row.revision, row.home_profile, b"")


def _note(
    connection: sa.Connection, file: GrowingFile, spooled: Spooled, session_id: int, count: int, new: list[Problem]
) -> list[Problem]:
    """Have the dump's row speak of the longer file; the problems that it has now."""
    dump = connection.execute(_find_dump, {"dump": file.dump_id, "sha256": file.sha256}).one()
    missing = file.tail.answers.problem() if file.tail.answers is not None else None
    every = [*file.problems, *new, *([missing] if missing is not None else [])]
    values = {
        "sha256": spooled.sha256,
        "received_at": datetime.now(UTC),
        "bytes": spooled.bytes if spooled.written is None else spooled.written.size,
        "turn_count": dump.turn_count + count,
        "problem_count": file.problem_count + len(new) + (missing is not None),
        "problems": [problem_dict(problem) for problem in every[:MOST_PROBLEMS]],
    }
    connection.execute(sa.update(Dump).where(Dump.id == file.dump_id).values(values))
    connection.execute(_link.values(new_turns=DumpSession.new_turns + count), {"dump": dump.id, "session": session_id})
    return every[:MOST_PROBLEMS]


def _go_on(
    engine: sa.Engine,
    file: GrowingFile,
    spooled: Spooled,
    filename: str,
    session: tuple[object, ...],
    new: list[Problem],
) -> None:
    """Remember the file as it is now, unless its last line is not whole."""
    written = spooled.written
    if written is None or not written.last.endswith(b"\n"):
        return
    lasting = [problem for problem in new if problem.at != _END]
    problems, count = [*file.problems, *lasting][:MOST_PROBLEMS], file.problem_count + len(lasting)
    longer = replace(file, written=written, sha256=spooled.sha256, session=session)
    longer.problems, longer.problem_count = problems, count
    growing_files.of(engine).put(filename, longer)


def _place(tail: ReadTail) -> str:
    """Where the problem stands that says what is missing of a session so far."""
    return f"session {(tail.session or '')[:200]!r}"

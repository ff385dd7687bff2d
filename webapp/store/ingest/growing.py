"""Stores where the reading of a file ended, and of each session in it, so that any process can go on from there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp import saved_state
from webapp.dumps.read_tail import FileTail, SessionTail
from webapp.dumps.tail_reading import SessionEnd, noted_end
from webapp.exports.session_dump import whole_entry
from webapp.saved_state import NotSaved
from webapp.store.db import ids
from webapp.store.models import Dump, DumpSession, GrowingFile, GrowingSession, Session, Turn
from webapp.store.write import saved_fold, state_cache
from webapp.store.write.growth import Stored
from webapp.store.write.writing import SessionOutcome

_find_counts = sa.select(
    Session.id.label("session_id"), Session.changed, Session.entry_count, Session.turn_count
).where(Session.id.in_(sa.bindparam("sessions", expanding=True)))
_insert_session = sa.insert(GrowingSession)
_find_mark = (
    sa.select(Dump.bytes)
    .join(GrowingFile, GrowingFile.dump_id == Dump.id)
    .where(GrowingFile.name == sa.bindparam("name"), GrowingFile.made_by == sa.bindparam("made_by"))
    .order_by(Dump.id.desc())
    .limit(1)
)
_find_file = (
    sa.select(GrowingFile.dump_id, GrowingFile.state)
    .join(Dump, Dump.id == GrowingFile.dump_id)
    .where(Dump.sha256 == sa.bindparam("sha256"), Dump.state == "done")
    .where(GrowingFile.made_by == sa.bindparam("made_by"))
)
_find_session = (
    sa.select(
        *(Session.id, Session.key, Session.revision, Session.home_profile, Session.deleted_at, Session.entry_count),
        GrowingSession.reader,
        (Session.entry_count == GrowingSession.entry_count).label("same_entries"),
        (Session.turn_count == GrowingSession.turn_count).label("same_turns"),
    )
    .join(DumpSession, DumpSession.session_id == Session.id)
    .outerjoin(
        GrowingSession,
        sa.and_(
            GrowingSession.dump_id == DumpSession.dump_id,
            GrowingSession.session_id == Session.id,
            GrowingSession.made_by == sa.bindparam("made_by"),
        ),
    )
    .where(DumpSession.dump_id == sa.bindparam("dump"), Session.external_id == sa.bindparam("name"))
    .order_by(Session.revision.desc())
    .limit(1)
)


_find_entries = (
    sa.select(Turn.source, Turn.raw, Turn.raw_at)
    .where(Turn.session_id == sa.bindparam("session"), Turn.entry_sha256.is_not(None))
    .order_by(Turn.ordinal)
)


class StoredEnd(NamedTuple):
    """A session of a file as it is stored, and where the reading of it ended; None where its entries tell that."""

    stored: Stored
    end: SessionEnd | None


def mark(engine: sa.Engine, filename: str) -> int | None:
    """How many bytes of the file of that name were read last: `spool` says the hash of so many."""
    with engine.connect() as connection:
        return connection.scalar(_find_mark, {"name": _digest(filename), "made_by": saved_state.made_by()})


def find_file(connection: sa.Connection, sha256: str) -> tuple[int, FileTail] | None:
    """The number of the dump of these bytes, and where the reading of it ended. Raises `NotSaved`."""
    row = connection.execute(_find_file, {"sha256": sha256, "made_by": saved_state.made_by()}).first()
    if row is None:
        return None
    tail = saved_state.restored(row.state)
    if not isinstance(tail, FileTail):
        raise NotSaved("it is no file's end")
    return row.dump_id, tail


def find_session(connection: sa.Connection, dump_id: int, name: str, short: int | None) -> StoredEnd | None:
    """The session of that name in a dump; None where there is none. `short` is how many entries a short one has.

    Raises `NotSaved` where it cannot be gone on with: another file made it grow since, it is deleted, or it was not
    noted where it ended.
    """
    about = {"dump": dump_id, "name": ids.shortened(name), "made_by": saved_state.made_by()}
    row = connection.execute(_find_session, about).first()
    if row is None:
        return None
    same = row.entry_count == short if row.reader is None else row.same_entries and row.same_turns
    if row.deleted_at is not None or not same:
        raise NotSaved("the session changed since")
    end = None if row.reader is None else noted_end(row.reader)
    return StoredEnd(Stored(row.id, row.key, row.revision, row.home_profile, b""), end)


def entries_of(connection: sa.Connection, session_id: int) -> Iterator[dict[str, Any]]:
    """Each entry of a session as it came. Raises `NotSaved` where it is not stored whole."""
    for row in connection.execute(_find_entries, {"session": session_id}):
        entry = None if row.source is None and row.raw_at is None else whole_entry(row.source, row.raw, row.raw_at)
        if not isinstance(entry, dict):
            raise NotSaved("an entry is not stored whole")
        yield entry


def put_sessions(
    connection: sa.Connection, dump_id: int, ends: Sequence[tuple[SessionTail | None, SessionOutcome]]
) -> None:
    """Note where the reading of sessions ended that were just written, or found as they are; the caller commits."""
    outcomes = {outcome.id: (tail, outcome) for tail, outcome in ends if tail is not None and tail.reader is not None}
    if not outcomes:
        return
    counts = {row.session_id: row for row in connection.execute(_find_counts, {"sessions": list(outcomes)})}
    folds = {number: _fold(connection, outcome, counts[number].changed) for number, (_, outcome) in outcomes.items()}
    own_rows = (GrowingSession.dump_id == dump_id, GrowingSession.session_id.in_(list(outcomes)))
    connection.execute(sa.delete(GrowingSession).where(*own_rows))
    about, rows = {"dump_id": dump_id, "made_by": saved_state.made_by()}, []
    for number, (tail, _) in outcomes.items():
        with suppress(NotSaved):
            reader = saved_state.saved((tail.reader, tail.answers))
            rows.append({**about, **counts[number]._mapping, "reader": reader, "fold": folds[number]})
    if rows:
        connection.execute(_insert_session, rows)


def _fold(connection: sa.Connection, outcome: SessionOutcome, changed: int) -> bytes | None:
    """The state of a session; of one that was found, as it was saved with another file or an earlier state of this."""
    if outcome.grown is not None:
        return saved_fold.as_bytes(outcome.grown.session)
    if outcome.what == "new":
        return outcome.fold
    return state_cache.stored_fold(connection, outcome.id, changed)


def put_file(connection: sa.Connection, dump_id: int, filename: str, tail: FileTail) -> None:
    """Note where the reading of a file ended, in place of what was noted of that name; the caller commits."""
    connection.execute(sa.delete(GrowingFile).where(GrowingFile.dump_id == dump_id))
    name = _digest(filename)
    before = connection.scalars(sa.delete(GrowingFile).where(GrowingFile.name == name).returning(GrowingFile.dump_id))
    if former := before.all():
        connection.execute(sa.delete(GrowingSession).where(GrowingSession.dump_id.in_(former)))
    try:
        state = saved_state.saved(tail)
    except NotSaved:
        return
    values = {"dump_id": dump_id, "name": name, "made_by": saved_state.made_by(), "state": state}
    connection.execute(sa.insert(GrowingFile).values(values))


def forget(connection: sa.Connection, dump_id: int) -> None:
    """Have the file of a dump be read whole when it comes again; the caller commits."""
    connection.execute(sa.delete(GrowingFile).where(GrowingFile.dump_id == dump_id))
    connection.execute(sa.delete(GrowingSession).where(GrowingSession.dump_id == dump_id))


def _digest(filename: str) -> str:
    return hashlib.sha256(filename.encode("utf-8", "surrogatepass")).hexdigest()

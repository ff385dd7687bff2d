"""Tells a session that grew from one with another past, by the hashes of its entries; marks those that still grow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from webapp.dumps.records import Turn
from webapp.store.models import Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.write import rows
from webapp.store.write.tally import Tally
from webapp.store.write.turn_rows import KNOWN_LATER

_EXACT = ("kind", "role", "parent", "raw_sha256", "raw_at")
_columns = rows.turns.c
_find_turns = (
    sa.select(
        _columns.entry,
        _columns.recorded_failure.is_not(None).label("failed"),
        _columns.duplicate_of,
        (_columns.id - _columns.ordinal).label("first"),
        *(_columns[name] for name in (*_EXACT, *KNOWN_LATER)),
    )
    .where(_columns.session_id == sa.bindparam("session"))
    .order_by(_columns.ordinal)
    .execution_options(yield_per=1000)
)


@dataclass(slots=True)
class _Compared:
    """The turns that were compared: where they stand, and which of them failed in the store and in what came."""

    tally: Tally = field(default_factory=Tally)
    stored: set[int] = field(default_factory=set)
    came: set[int] = field(default_factory=set)
    entry: int = -1

    def same(self, turn: Turn, row: sa.Row[Any]) -> bool:
        place = self.tally.place(turn.entry, turn.kind, turn.written_by_model, turn.duplicate_of)
        self.entry = turn.entry
        if row.failed:
            self.stored.add(place.ordinal)
        if turn.failure is not None:
            self.came.add(place.ordinal if place.original is None else place.original)
        if turn.answers is not None and (answered := self.tally.answered(turn.answers)) is not None:
            self.came.add(answered)
        original = None if row.duplicate_of is None else row.duplicate_of - row.first
        return (row.entry, original) == (turn.entry, place.original) and _as_stored(turn, row)


def same_reading(connection: sa.Connection, session_id: int, turns: Iterable[Turn]) -> bool:
    """Whether `turns` are what is stored of the session, as far as both go, and end between two entries."""
    compared = _Compared()
    with connection.execute(_find_turns, {"session": session_id}) as result:
        stored_rows = iter(result)
        for turn in turns:
            if (row := next(stored_rows, None)) is None:
                return turn.entry != compared.entry and compared.came <= compared.stored
            if not compared.same(turn, row):
                return False
        following = next(stored_rows, None)
    return (following is None or following.entry != compared.entry) and compared.came <= compared.stored


def _as_stored(turn: Turn, row: sa.Row[Any]) -> bool:
    values = _row(turn)
    columns = row._mapping
    if any(values[name] != columns[name] for name in _EXACT):
        return False
    for name in KNOWN_LATER:  # a shorter dump of the same session lacks it, and is no other reading
        stored_value = rows.utc(columns[name]) if name == "sent_at" else columns[name]
        if values[name] is not None and values[name] != stored_value:
            return False
    return True


def _row(turn: Turn) -> rows.Row:
    raw = rows.encoded(turn.raw)
    try:
        return rows.turn_row(turn, raw)
    except RecursionError:  # stored without its entry, as `SessionRows` does
        return rows.turn_row(replace(turn, source=None, raw_at=None, tool_calls=None), raw)


_DIGEST = 32
_find_revisions = (
    sa.select(Session.id, Session.key, Session.revision)
    .where(Session.external_id == sa.bindparam("external_id"))
    .order_by(Session.id)
    .with_for_update(key_share=True)
)
"""locked, in the order in which all who lock several sessions do, since what is counted of one is read and written"""
_find_digests = (
    sa.select(StoredTurn.entry_sha256)
    .where(StoredTurn.session_id == sa.bindparam("session"), StoredTurn.entry_sha256.is_not(None))
    .order_by(StoredTurn.ordinal)
)


@dataclass(frozen=True, slots=True)
class Stored:
    """A revision that is in the database; `entries` are its entries' hashes, one after the other."""

    id: int
    key: str
    revision: int
    entries: bytes

    @property
    def count(self) -> int:
        return len(self.entries) // _DIGEST


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with a session that came in.

    `stored` is the revision that it continues or repeats, None where it is new; `skip` is how many of its
    entries are there; `grows` says whether it brings more.
    """

    stored: Stored | None
    skip: int
    grows: bool
    next_revision: int


def plan(connection: sa.Connection, external_id: str, turns: Iterable[Turn], *, anew: bool = False) -> Plan:
    """Compare what came with every revision of `external_id`, the newest first.

    With `anew` a revision that today's format reads otherwise is another one, though its entries are the same.
    """
    revisions = list(_revisions(connection, external_id))
    newest = max((revision.revision for revision in revisions), default=0)
    new_entries = b"".join(entry_digests(turns)) if revisions else b""

    def fits(revision: Stored) -> bool:
        return not anew or same_reading(connection, revision.id, turns)

    for revision in revisions:
        if revision.entries.startswith(new_entries) and fits(revision):
            return Plan(revision, len(new_entries) // _DIGEST, False, newest + 1)
    for revision in revisions:
        if new_entries.startswith(revision.entries) and fits(revision):
            return Plan(revision, revision.count, True, newest + 1)
    return Plan(None, 0, False, newest + 1)


def entry_digests(turns: Iterable[Turn]) -> Iterator[bytes]:
    """The hash of each entry, taken from its first turn."""
    last = None
    for turn in turns:
        if turn.entry != last:
            last = turn.entry
            yield rows.entry_digest(turn)


def _revisions(connection: sa.Connection, external_id: str) -> Iterator[Stored]:
    revisions = connection.execute(_find_revisions, {"external_id": external_id}).all()
    for row in sorted(revisions, key=lambda row: row.revision, reverse=True):
        digests = connection.scalars(_find_digests, {"session": row.id})
        entries = b"".join(bytes(digest) for digest in digests if digest)
        yield Stored(row.id, row.key, row.revision, entries)


_update = sa.update(Session)


def mark_live(connection: sa.Connection, session_ids: Collection[int]) -> None:
    """Say of sessions, by their numbers, that turns arrived just now; an import of a finished file never does."""
    if session_ids:
        connection.execute(_update.where(Session.id.in_(session_ids)).values(grown_at=datetime.now(UTC)))


def mark_watched(engine: sa.Engine, keys: Collection[str], after: int) -> None:
    """Mark those of the sessions `keys` that changed after `after`, a time of `dialect.clock`; in a transaction."""
    changed = _update.where(Session.key.in_(keys), Session.changed > after)
    with engine.begin() as connection:
        connection.execute(changed.values(grown_at=datetime.now(UTC)))

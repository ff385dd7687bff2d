"""Tells a session that grew from one with another past, by the hashes of its entries in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from webapp.dumps.records import Turn
from webapp.store.models import Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.write import row_values
from webapp.store.write.reread import same_reading

_DIGEST = 32
_find_revisions = (
    sa.select(Session.id, Session.key, Session.revision, Session.home_profile)
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
    home: str
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
            yield row_values.entry_digest(turn)


def _revisions(connection: sa.Connection, external_id: str) -> Iterator[Stored]:
    revisions = connection.execute(_find_revisions, {"external_id": external_id}).all()
    for row in sorted(revisions, key=lambda row: row.revision, reverse=True):
        digests = connection.scalars(_find_digests, {"session": row.id})
        entries = b"".join(bytes(digest) for digest in digests if digest)
        yield Stored(row.id, row.key, row.revision, row.home_profile, entries)

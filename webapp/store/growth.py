"""Tells a session that grew from one with another past, by the hashes of its entries in order."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.dumps.records import Turn
from webapp.store import rows
from webapp.store.facets import Facets
from webapp.store.models import Parse, Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.parsed import OURS
from webapp.store.reread import same_reading
from webapp.store.tally import Tally

_DIGEST = 32
_find_revisions = (
    sa.select(Session.id, Session.key, Session.revision, Session.home_profile)
    .where(Session.external_id == sa.bindparam("external_id"))
    .order_by(Session.revision.desc())
)
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
    newest = max((stored.revision for stored in revisions), default=0)
    if not revisions:
        return Plan(None, 0, False, newest + 1)
    came = b"".join(entry_digests(turns))

    def fits(stored: Stored) -> bool:
        return not anew or same_reading(connection, stored.id, turns)

    for stored in revisions:
        if stored.entries.startswith(came) and fits(stored):
            return Plan(stored, len(came) // _DIGEST, False, newest + 1)
    for stored in revisions:
        if came.startswith(stored.entries) and fits(stored):
            return Plan(stored, stored.count, True, newest + 1)
    return Plan(None, 0, False, newest + 1)


def entry_digests(turns: Iterable[Turn]) -> Iterator[bytes]:
    """The hash of each entry, taken from its first turn."""
    last = None
    for turn in turns:
        if turn.entry != last:
            last = turn.entry
            yield rows.entry_digest(turn)


def restored(connection: sa.Connection, session_id: int, home: str) -> Tally:
    """The tally as it stood after the session's stored turns, with their verdicts under `home` and `fencepost`."""
    tally, positions = Tally(), array("i")
    for row in connection.execute(_turns(session_id, home).execution_options(yield_per=1000)):
        original = None if row.duplicate_of is None else row.duplicate_of - row.first
        place = tally.put(row.entry, row.kind, row.has_text, original)
        if row.home is not None:
            tally.verdicts(place.position, row.home, row.ours or "none")
        if row.failed:
            tally.fail(place.ordinal)
        tally.saw(row.model if row.kind in ("response", "tool_call") else None, row.sent_at)
        positions.append(row.position)
    tally.moved(positions)
    return tally


def counted(connection: sa.Connection, session_id: int) -> tuple[Facets, int]:
    """The session's facets and the bytes of its texts, as they were counted when its stored turns were written."""
    row = connection.execute(sa.select(Session.facets, Session.raw_bytes).where(Session.id == session_id)).one()
    return Facets.of(row.facets), row.raw_bytes


def _revisions(connection: sa.Connection, external_id: str) -> Iterator[Stored]:
    for row in connection.execute(_find_revisions, {"external_id": external_id}).all():
        digests = connection.scalars(_find_digests, {"session": row.id})
        entries = b"".join(bytes(digest) for digest in digests if digest)
        yield Stored(row.id, row.key, row.revision, row.home_profile, entries)


def _turns(session_id: int, home_profile: str) -> sa.Select[*tuple[Any, ...]]:
    home, ours = orm.aliased(Parse), orm.aliased(Parse)
    query = sa.select(
        StoredTurn.entry,
        StoredTurn.position,
        StoredTurn.kind,
        StoredTurn.duplicate_of,
        (StoredTurn.id - StoredTurn.ordinal).label("first"),
        StoredTurn.raw.is_not(None).label("has_text"),
        StoredTurn.recorded_failure.is_not(None).label("failed"),
        StoredTurn.model,
        StoredTurn.sent_at,
        home.verdict.label("home"),
        ours.verdict.label("ours"),
    )
    query = query.outerjoin(home, sa.and_(home.turn_id == StoredTurn.id, home.profile == home_profile))
    query = query.outerjoin(ours, sa.and_(ours.turn_id == StoredTurn.id, ours.profile == OURS))
    return query.where(StoredTurn.session_id == session_id).order_by(StoredTurn.ordinal)

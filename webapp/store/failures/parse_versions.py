"""How many parses of each version a profile has, by session: counted once a process, then only where sessions change.

The index of sessions counts all parses of a profile already. So only those of other versions than the newest one are
looked for: none, where all are of one version.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store import index
from webapp.store.db.database import PerEngine
from webapp.store.index.bit_sliced_index import NO_COLUMN, Bits, Column
from webapp.store.index.state import State
from webapp.store.models import TURNS_A_SESSION, Parse, turns_of
from webapp.store.write.home import UNKNOWN

MOST_PROFILES = 50
"""profiles whose versions are remembered"""
_MOST_REFRESHED = 300
"""sessions that are counted again one by one; where more changed, all are counted again"""
_session_id = (Parse.turn_id // TURNS_A_SESSION).label("session_id")


@dataclass(frozen=True, slots=True)
class ParseVersions:
    """The parses of one profile as of `state`: all are of the version `main`, but for those in `others`."""

    profile: str
    state: State
    main: str
    others: dict[str, Column]

    def counts(self, sessions: Bits) -> Counter[str]:
        """How many parses of each version these sessions (slots of `state`) have; versions without any are left out."""
        counts = Counter({version: column.total(sessions) for version, column in self.others.items()})
        every = sum(column.total(sessions) for column in self.state.columns("verdict", self.profile).values())
        counts[self.main] = every - counts.total()
        return +counts


_versions: PerEngine[dict[str, ParseVersions]] = PerEngine(dict)
_lock = threading.Lock()


def of_profile(db: orm.Session, state: State, profile: str) -> ParseVersions:
    """The versions of a profile's parses as of `state`, which is one of the index of `db`."""
    connection = db.connection()
    with _lock:
        remembered = _versions(connection.engine)
        known = remembered.pop(profile, None)
    if known is None or known.state is not state:
        if known is not None and state.follows(known.state):
            known = _refreshed(connection, known, state)
        else:
            known = _whole(connection, state, profile)
    with _lock:
        remembered[profile] = known
        if len(remembered) > MOST_PROFILES:
            remembered.pop(next(iter(remembered)))
    return known


def warm(engine: sa.Engine) -> None:
    """Count the versions of all home profiles now, so that no request has to wait for it."""
    with orm.Session(engine) as db:
        state = index.current(db)
        for profile in state.columns("home"):
            if profile != UNKNOWN:
                of_profile(db, state, profile)


def _whole(connection: sa.Connection, state: State, profile: str) -> ParseVersions:
    newest = sa.select(Parse.version).where(Parse.profile == profile).order_by(Parse.turn_id.desc()).limit(1)
    main = connection.scalar(newest) or ""
    return ParseVersions(profile, state, main, _with(connection, {}, state, (profile, main), [sa.true()]))


def _refreshed(connection: sa.Connection, known: ParseVersions, state: State) -> ParseVersions:
    """With the sessions that changed since: they have new slots, and their old ones are in no view."""
    changed = state.numbers["id"].values[known.state.size : state.size]
    if len(changed) > _MOST_REFRESHED:
        return _whole(connection, state, known.profile)
    stretches = [turns_of(Parse.turn_id, session_id) for session_id in changed]
    others = _with(connection, known.others, state, (known.profile, known.main), stretches)
    return ParseVersions(known.profile, state, known.main, others)


def _with(
    connection: sa.Connection,
    columns: dict[str, Column],
    state: State,
    parse: tuple[str, str],
    stretches: Sequence[sa.ColumnElement[bool]],
) -> dict[str, Column]:
    """The columns, and the parses of other versions than `parse` (profile, version) that these stretches have: one
    query each, since SQLite goes through all parses of a profile where one asks for several."""
    profile, main = parse
    query = sa.select(_session_id, Parse.version, sa.func.count())
    query = query.where(Parse.profile == profile, Parse.version != main).group_by(_session_id, Parse.version)
    counts: dict[str, dict[int, int]] = defaultdict(dict)
    for stretch in stretches:
        for session_id, version, count in connection.execute(query.where(stretch)):
            slot = state.slot(int(session_id))
            if slot is not None:
                counts[version][slot] = count
    extended = dict(columns)
    for version, by_slot in counts.items():
        slots = sorted(by_slot)
        numbers = [by_slot[slot] for slot in slots]
        extended[version] = columns.get(version, NO_COLUMN).extended(slots, numbers)
    return extended

"""Sessions as the list shows them: filtered, in order, a page at a time, with what their facets hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store import index, search
from webapp.store.db.ids import shortened
from webapp.store.index import order
from webapp.store.index.bit_sliced_index import NONE, Bits
from webapp.store.index.order import BadCursor as BadCursor
from webapp.store.index.state import State
from webapp.store.models import DumpSession, Session
from webapp.store.sessions import dumps, searched
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.narrowing import FACETS, Narrowed, top
from webapp.store.sessions.searched import Hits

_not_deleted = Session.deleted_at.is_(None)
_FOUND_AT_ONCE = 500


class NoSuchSession(LookupError):
    """No session has that id or key."""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One row of the list. `strip` has one letter a response: c e r n for the home verdict, f failed, s rescued.
    Under an unknown home c e r n are what `fencepost` makes of it, and u what it cannot read."""

    key: str
    external_id: str
    title: str | None
    revision: int
    newest: bool
    models: list[str]
    started_at: datetime | None
    turn_count: int
    response_count: int
    failed_count: int
    rescued_count: int
    strip: str
    source_format: str
    home_profile: str
    home_source: str
    service: str | None
    clean_count: int
    extracted_count: int
    repaired_count: int
    unparsed_count: int
    none_count: int
    label_count: int
    ended_at: datetime | None
    raw_bytes: int
    facets: dict[str, Any] | None = field(repr=False)

    @property
    def findings(self) -> dict[str, int]:
        """How many findings of each rule, the rule with most first."""
        return self._most_first("finding")

    @property
    def errors(self) -> dict[str, int]:
        """How many failed responses ended with each kind of error, the most frequent first."""
        return self._most_first("errors")

    def _most_first(self, part: str) -> dict[str, int]:
        counts: dict[str, int] = (self.facets or {}).get(part, {})
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def shape_of(session: SessionLine | Session) -> tuple[int, int, int, int, int]:
    """How many responses have each verdict, in the order of `VERDICTS`."""
    first = (session.clean_count, session.extracted_count, session.repaired_count)
    return (*first, session.unparsed_count, session.none_count)


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of one facet among the sessions that all other filters leave in view.

    `name` is the filter's, and a value the filter's value. At most 50 values, most sessions first; `more` counts the
    others. `chosen` is the value that the filters ask for, None where they ask for none; it is always among `values`.
    """

    name: str
    values: list[tuple[str, int]]
    more: int
    chosen: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many sessions each of these filters would show, all other filters left in place.

    `all` is without `failed` and `rescued`.
    """

    all: int
    failed: int
    rescued: int
    labelled: int
    unlabelled: int


@dataclass(frozen=True, slots=True)
class Page:
    """`total` sessions match and `hidden` do not; `next` is the `after` of the next page, None on the last.

    `facets` are those of `FACETS` that have values, in that order. After a search `matches` has up to three places
    for each session, by its key. With `open_ended` the text stands in more sessions than were counted: `total` and the
    facets are of the newest ones, `hidden` is 0.
    """

    sessions: list[SessionLine]
    next: str | None
    total: int
    hidden: int
    counts: Counts
    facets: dict[str, Facet] = field(default_factory=dict)
    matches: dict[str, list[search.Match]] = field(default_factory=dict)
    open_ended: bool = False


_columns = tuple(getattr(Session, name) for name in SessionLine.__dataclass_fields__)


def page(db: orm.Session, filters: Filters, *, after: str | None = None, limit: int = 50) -> Page:
    """The sessions behind `after` in the order that the filters ask for. Raises `BadCursor`."""
    narrowed = _narrowed(db, filters)
    state, open_ended = narrowed.state, False
    if filters.q and filters.q.strip():
        hits, open_ended = _search(db, narrowed, filters.q, after, limit)
    else:
        slots, following = order.first(state, filters.sort, narrowed.view, after, limit)
        hits = Hits(list(state.ids(slots)), {}, following)
    lines = _lines(db, hits.ids)
    total = len(narrowed.view)
    return Page(
        list(lines.values()),
        hits.next,
        total,
        0 if open_ended else len(state.alive) - total,
        _counts(narrowed),
        _facets(narrowed),
        {line.key: hits.matches[number] for number, line in lines.items() if number in hits.matches},
        open_ended,
    )


def narrowed(db: orm.Session, filters: Filters) -> Narrowed:
    """The index under the filters, search included: of a text that very many sessions have, the newest of them."""
    narrowed_list = _narrowed(db, filters)
    if filters.q and filters.q.strip():
        matching = searched.matching(db.connection(), narrowed_list.state, filters.q, narrowed_list.view)
        narrowed_list.parts["q"] = matching.slots
    return narrowed_list


def ids_in_order(db: orm.Session, filters: Filters) -> Iterator[int]:
    """The ids of all sessions that `page` would show page by page, as they are now. Ends the transaction."""
    narrowed = _narrowed(db, filters)
    if not (filters.q and filters.q.strip()):
        slots, _ = order.first(narrowed.state, filters.sort, narrowed.view, None, max(1, len(narrowed.view)))
        yield from narrowed.state.ids(slots)
        return
    after: str | None = None
    while True:
        hits, _ = _search(db, _narrowed(db, filters), filters.q, after, _FOUND_AT_ONCE)
        db.rollback()
        yield from hits.ids
        if (after := hits.next) is None:
            return


def _narrowed(db: orm.Session, filters: Filters) -> Narrowed:
    state = index.current(db)
    return Narrowed(state, filters, lambda dump: _of_dump(db, state, dump))


def _search(db: orm.Session, narrowed: Narrowed, text: str, after: str | None, limit: int) -> tuple[Hits, bool]:
    """A page of the sessions that match, to which `narrowed` is narrowed; and whether there are more than counted."""
    connection, state, view = db.connection(), narrowed.state, narrowed.view
    matching = searched.matching(connection, state, text, view, limit)
    searched_view = view & matching.slots if matching.by_id else view
    hits = searched.page(connection, state, text, matching, searched_view, after, limit)
    narrowed.parts["q"] = matching.slots
    return hits, matching.open_ended


def _lines(db: orm.Session, ids: list[int]) -> dict[int, SessionLine]:
    """The sessions with these ids, in their order; one that was deleted a moment ago is left out."""
    lines = {row[0]: SessionLine(*row[1:]) for row in db.execute(_listed, {"ids": ids})} if ids else {}
    return {number: lines[number] for number in ids if number in lines}


_listed = sa.select(Session.id, *_columns).where(Session.id.in_(sa.bindparam("ids", expanding=True)), _not_deleted)


def _counts(narrowed: Narrowed) -> Counts:
    base = narrowed.without("failed", "rescued")
    numbers, labels = narrowed.state.numbers, narrowed.counts("label")
    failed, rescued = (numbers[name].positive.intersection_cardinality(base) for name in ("failed", "rescued"))
    return Counts(len(base), failed, rescued, labels.get("labelled", 0), labels.get("unlabelled", 0))


def _facets(narrowed: Narrowed) -> dict[str, Facet]:
    facets: dict[str, Facet] = {}
    for name in FACETS:
        chosen = getattr(narrowed.filters, name)
        values, more = top(narrowed.counts(name), chosen)
        if values:
            facets[name] = Facet(name, values, more, chosen)
    return facets


def _of_dump(db: orm.Session, state: State, ident: str) -> Bits:
    """The slots of a dump's sessions, by its number or hash."""
    try:
        dump_id = dumps.find_id(db, ident)
    except dumps.NoSuchDump:
        return NONE
    return state.slots(db.scalars(sa.select(DumpSession.session_id).where(DumpSession.dump_id == dump_id)))


def find(db: orm.Session, ident: str) -> Session:
    """The latest revision of the session with that id, else the session with that key; raises `NoSuchSession`."""
    session = db.scalar(_by_id, {"ident": shortened(ident)})
    if session is None and ident.isascii() and ident.isalnum() and len(ident) <= 16:
        session = db.scalar(_by_key, {"ident": ident})
    if session is None:
        raise NoSuchSession(f"no session has the id {ident[:200]!r}")
    return session


_by_id = (
    sa.select(Session)
    .where(Session.external_id == sa.bindparam("ident"), _not_deleted)
    .order_by(Session.revision.desc())
    .limit(1)
)
_by_key = sa.select(Session).where(Session.key == sa.bindparam("ident"), _not_deleted)


def revisions(db: orm.Session, external_id: str) -> list[Session]:
    """Every revision of that id, the latest first."""
    query = sa.select(Session).where(Session.external_id == external_id, _not_deleted).order_by(Session.revision.desc())
    return list(db.scalars(query))

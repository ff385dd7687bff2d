"""Sessions as the list shows them: filtered, in order, a page at a time, with what their facets hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store import dumps, index, searched
from webapp.store.filtering import Filters
from webapp.store.ids import shortened
from webapp.store.index import order
from webapp.store.index.narrowing import FACETS, Narrowed, top
from webapp.store.index.order import BadCursor as BadCursor
from webapp.store.index.state import State
from webapp.store.models import DumpSession, Session
from webapp.store.searched import Match as Match

_there = Session.deleted_at.is_(None)


class NoSuchSession(LookupError):
    """No session has that id or key."""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One row of the list. `strip` has one letter a response: c e r n for the home verdict, f failed, s rescued."""

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
    label_count: int
    ended_at: datetime | None
    raw_bytes: int
    facets: dict[str, Any] | None = field(repr=False)

    @property
    def findings(self) -> dict[str, int]:
        """How many findings of each rule, the rule with most first."""
        found: dict[str, int] = (self.facets or {}).get("finding", {})
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    @property
    def errors(self) -> dict[str, int]:
        """How many failed responses ended with each kind of error, the most frequent first."""
        found: dict[str, int] = (self.facets or {}).get("errors", {})
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


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
    for each session, by its key, and `more_matches` has the keys of those with further ones. With `open_ended` the
    text stands in more sessions than were counted: `total` and the facets are of the newest ones, `hidden` is 0.
    """

    sessions: list[SessionLine]
    next: str | None
    total: int
    hidden: int
    counts: Counts
    facets: dict[str, Facet] = field(default_factory=dict)
    matches: dict[str, list[Match]] = field(default_factory=dict)
    more_matches: frozenset[str] = frozenset()
    open_ended: bool = False


_columns = tuple(getattr(Session, name) for name in SessionLine.__dataclass_fields__)


def page(db: orm.Session, filters: Filters, *, after: str | None = None, limit: int = 50) -> Page:
    """The sessions behind `after` in the order that the filters ask for. Raises `BadCursor`."""
    if filters.q and filters.q.strip():
        return _searched(db, filters, filters.q, after, limit)
    narrowed = _narrowed(db, filters)
    state, view = narrowed.state, narrowed.view
    slots, following = order.first(state, filters.sort, view, after, limit)
    lines = _lines(db, [state.numbers["id"].values[slot] for slot in slots])
    total = view.bit_count()
    hidden = state.alive.bit_count() - total
    return Page(list(lines.values()), following, total, hidden, _counts(narrowed), _facets(narrowed))


def narrowed(db: orm.Session, filters: Filters) -> Narrowed:
    """The index under the filters, search included: of a text that very many sessions have, the newest of them."""
    found = _narrowed(db, filters)
    if filters.q and filters.q.strip():
        view = found.view
        found.parts["q"] = searched.matching(db.connection(), found.state, filters.q, lambda: view).slots
    return found


def _narrowed(db: orm.Session, filters: Filters) -> Narrowed:
    state = index.current(db)
    return Narrowed(state, filters, lambda dump: _of_dump(db, state, dump))


def _searched(db: orm.Session, filters: Filters, text: str, after: str | None, limit: int) -> Page:
    narrowed = _narrowed(db, filters)
    state, view = narrowed.state, narrowed.view
    found = searched.matching(db.connection(), state, text, lambda: view, limit)
    hits = searched.page(db.connection(), state, text, found, view & found.slots if found.by_id else view, after, limit)
    narrowed.parts["q"] = found.slots
    lines = _lines(db, hits.ids)
    total = narrowed.view.bit_count()
    return Page(
        list(lines.values()),
        hits.next,
        total,
        0 if found.open_ended else state.alive.bit_count() - total,
        _counts(narrowed),
        _facets(narrowed),
        {line.key: hits.matches[number] for number, line in lines.items() if number in hits.matches},
        frozenset(lines[number].key for number in hits.more if number in lines),
        found.open_ended,
    )


def _lines(db: orm.Session, ids: list[int]) -> dict[int, SessionLine]:
    """The sessions with these ids, in their order; one that was deleted a moment ago is left out."""
    found = {row[0]: SessionLine(*row[1:]) for row in db.execute(_listed, {"ids": ids})} if ids else {}
    return {number: found[number] for number in ids if number in found}


_listed = sa.select(Session.id, *_columns).where(Session.id.in_(sa.bindparam("ids", expanding=True)), _there)


def _counts(narrowed: Narrowed) -> Counts:
    base = narrowed.without("failed", "rescued")
    numbers, labels = narrowed.state.numbers, narrowed.counts("label")
    failed, rescued = ((numbers[name].some & base).bit_count() for name in ("failed", "rescued"))
    return Counts(base.bit_count(), failed, rescued, labels.get("labelled", 0), labels.get("unlabelled", 0))


def _facets(narrowed: Narrowed) -> dict[str, Facet]:
    found: dict[str, Facet] = {}
    for name in FACETS:
        chosen = getattr(narrowed.filters, name)
        values, more = top(narrowed.counts(name), chosen)
        if values:
            found[name] = Facet(name, values, more, chosen)
    return found


def _of_dump(db: orm.Session, state: State, ident: str) -> int:
    """The slots of a dump's sessions, by its number or hash."""
    try:
        dump_id = dumps.find_id(db, ident)
    except dumps.NoSuchDump:
        return 0
    return state.slots(db.scalars(sa.select(DumpSession.session_id).where(DumpSession.dump_id == dump_id)))


def find(db: orm.Session, ident: str) -> Session:
    """The latest revision of the session with that id, else the session with that key; raises `NoSuchSession`."""
    found = db.scalar(_by_id, {"ident": shortened(ident)})
    if found is None and ident.isascii() and ident.isalnum() and len(ident) <= 16:
        found = db.scalar(_by_key, {"ident": ident})
    if found is None:
        raise NoSuchSession(f"no session has the id {ident[:200]!r}")
    return found


_by_id = (
    sa.select(Session)
    .where(Session.external_id == sa.bindparam("ident"), _there)
    .order_by(Session.revision.desc())
    .limit(1)
)
_by_key = sa.select(Session).where(Session.key == sa.bindparam("ident"), _there)


def revisions(db: orm.Session, external_id: str) -> list[Session]:
    """Every revision of that id, the latest first."""
    query = sa.select(Session).where(Session.external_id == external_id, _there).order_by(Session.revision.desc())
    return list(db.scalars(query))

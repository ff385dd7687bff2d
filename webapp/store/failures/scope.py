"""What filters leave of the failed responses, and how many responses there are in all that could have failed there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import and_

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.failures import failure_index
from webapp.store.failures.failure_index import Snapshot
from webapp.store.failures.segment import Segment
from webapp.store.index.bit_sliced_index import NO_COLUMN, Bits
from webapp.store.index.session_reader import microseconds
from webapp.store.index.state import State
from webapp.store.models import Parse, Session, Turn, is_response
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.write.home import UNKNOWN
from webapp.store.write.parser import OURS

OF_RESPONSE = ("since", "until", "model", "agent", "phase", "tool", "label")
"""Filters that hold for the one response; the others are of its session. `since` and `until` are when it was sent, else
when its session began."""
_UNCOUNTED = ("agent", "phase", "tool", "label")
"""of these nobody counts all responses, so that there is no share"""
_AT_ONCE = 400


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many responses there are: `run` of them were parsed by the profile that is looked under, and only of those is
    known whether they failed. Under home the others are of sessions whose parser is unknown.

    Both are None where a filter is set by which responses that did not fail are not counted.
    """

    run: int | None
    of: int | None

    @property
    def not_run(self) -> int | None:
        return None if self.run is None or self.of is None else self.of - self.run


@dataclass(frozen=True, slots=True)
class Scope:
    """The failed responses under some filters: of each part of the snapshot, the places that are in view."""

    snapshot: Snapshot
    filters: Filters
    sessions: Bits
    """slots of the sessions in view, whenever they were"""
    views: tuple[Bits, ...]
    since: int | None
    until: int | None


def scope(db: orm.Session, filters: Filters) -> Scope:
    """What the filters leave. Raises `BadFilter`."""
    snapshot = failure_index.current(db, filters.under)
    since, until = (None if moment is None else microseconds(moment) for moment in filters.span())
    bare = replace(filters, since=None, until=None, model=None, agent=None, phase=None, tool=None, label=None)
    narrowed = sessions.narrowed(db, bare)
    slots = narrowed.view if narrowed.state is snapshot.state else narrowed.view & snapshot.state.alive
    views = [part.alive & _of_responses(part.segment, filters) for part in snapshot.parts]
    if slots != snapshot.state.alive:
        in_sessions = (part.segment.in_view(snapshot.state, slots) for part in snapshot.parts)
        views = list(map(and_, views, in_sessions))
    if since is not None or until is not None:
        views = list(map(and_, views, (part.segment.between(since, until) for part in snapshot.parts)))
    return Scope(snapshot, filters, slots, tuple(views), since, until)


def _of_responses(segment: Segment, filters: Filters) -> Bits:
    bits = segment.all
    for name in ("model", "agent", "phase", "tool"):
        if (value := getattr(filters, name)) is not None:
            bits &= segment.having(name, value)
    if filters.label is None:
        return bits
    return bits - segment.labelled if filters.label == "unlabelled" else bits & segment.labelled


def coverage(db: orm.Session, scope_in_view: Scope, model: str | None = None) -> Coverage:
    """How many responses the filters leave in all, those of `model` alone where one is given."""
    filters = scope_in_view.filters
    model = model or filters.model
    if any(getattr(filters, name) is not None for name in _UNCOUNTED):
        return Coverage(None, None)
    key = ("failure coverage", filters.under, scope_in_view.sessions, scope_in_view.since, scope_in_view.until, model)
    return scope_in_view.snapshot.state.keeping(key, lambda: _coverage(db, scope_in_view, model))


def _coverage(db: orm.Session, scope_in_view: Scope, model: str | None) -> Coverage:
    state, sessions_in_view = scope_in_view.snapshot.state, scope_in_view.sessions
    when = state.numbers["when"]
    astride: set[int] = set()
    if scope_in_view.since is not None:
        sessions_in_view -= when.below(scope_in_view.since, sessions_in_view)
    if scope_in_view.until is not None:
        sessions_in_view = when.below(scope_in_view.until, sessions_in_view)
    for bound in filter(None, scope_in_view.filters.span()):
        astride |= set(db.scalars(_astride, {"bound": bound}))
    slots = state.slots(astride) & scope_in_view.sessions
    whole = _of_index(state, sessions_in_view - slots, scope_in_view.filters.under, model)
    if whole.run is None or whole.of is None:
        return whole
    run, of = _of_sessions_astride(db, list(state.ids(slots)), scope_in_view.filters, model)
    return Coverage(whole.run + run, whole.of + of)


_astride = sa.select(Session.id).where(
    Session.ended_at >= sa.bindparam("bound"), Session.happened_at < sa.bindparam("bound")
)


def _of_index(state: State, view: Bits, under: str, model: str | None) -> Coverage:
    numbers = state.numbers
    if model is None:
        of = numbers["responses"].total(view)
        if under == HOME:
            unknown = state.columns("home").get(UNKNOWN, NO_COLUMN).members
            return Coverage(numbers["responses"].total(view - unknown), of)
        return Coverage(sum(column.total(view) for column in state.columns("verdict", under).values()), of)
    made_columns = state.columns("made", model)
    of = sum(column.total(view) for number, column in made_columns.items() if number >= 5)
    if under == HOME:
        return Coverage(sum(column.total(view) for number, column in made_columns.items() if number < 5), of)
    run_of_all = _of_index(state, view, under, None)
    if under == OURS or run_of_all.run == run_of_all.of:
        return Coverage(of, of)
    return Coverage(None, None)


def _of_sessions_astride(db: orm.Session, ids: list[int], filters: Filters, model: str | None) -> tuple[int, int]:
    """Of some sessions, those responses that were sent within the filters' time: as `Coverage` has them."""
    since, until = filters.span()
    sent = sa.func.coalesce(Turn.sent_at, Session.happened_at)
    name = Session.home_profile if filters.under == HOME else sa.literal(filters.under)
    parsed = sa.exists().where(Parse.turn_id == Turn.id, Parse.profile == name)
    query = sa.select(sa.func.count(), sa.func.count(sa.case((parsed, 1)))).select_from(Turn)
    query = query.join(Session, Session.id == Turn.session_id).where(is_response)
    query = query if since is None else query.where(sent >= since)
    query = query if until is None else query.where(sent < until)
    query = query if model is None else query.where(Turn.model == model)
    run = of = 0
    for at in range(0, len(ids), _AT_ONCE):
        row = db.execute(query.where(Turn.session_id.in_(ids[at : at + _AT_ONCE]))).one()
        of, run = of + row[0], run + row[1]
    return run, of

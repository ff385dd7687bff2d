"""What filters leave of the failed responses, and how many responses there are in all that could have failed there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.dialect import unindexed
from webapp.store.db.ids import microseconds
from webapp.store.failures import events
from webapp.store.models import FailedResponse, Label, Parse, Session, Turn, is_response
from webapp.store.sessions import facets, sessions
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.sessions.where import View, deleted, hidden
from webapp.store.write.parser import OURS, UNKNOWN
from webapp.store.write.tally import NOT_RUN, VERDICTS

OF_RESPONSE = ("since", "until", "model", "agent", "phase", "tool", "label")
"""Filters that hold for the one response; the others are of its session. `since` and `until` are when it was sent, else
when its session began."""
_UNCOUNTED = ("agent", "phase", "tool", "label")
"""of these nobody counts all responses, so that there is no share"""
Condition = sa.ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many responses there are: `run` of them were parsed by the profile that is looked under, and only of those is
    known whether they failed. Under home an unknown parser is read as `json.loads`, in `assumed` of them.

    Both are None where a filter is set by which responses that did not fail are not counted.
    """

    run: int | None
    of: int | None
    assumed: int = 0

    @property
    def not_run(self) -> int | None:
        return None if self.run is None or self.of is None else self.of - self.run


@dataclass(frozen=True, slots=True)
class Scope:
    """The failed responses under some filters: `where` is what holds of them, `key` the group that each is shown in.

    `view` are the sessions in view, whenever they were; `since` and `until` in microseconds.
    """

    filters: Filters
    view: View
    where: tuple[Condition, ...]
    merged: events.Merges
    since: int | None
    until: int | None

    @property
    def key(self) -> sa.ColumnElement[str]:
        """The group that people see a failed response in."""
        key: sa.ColumnElement[str] = sa.type_coerce(FailedResponse.group_key, sa.String())
        return sa.case(dict(self.merged), value=key, else_=key) if self.merged else key

    def keys(self, key: str) -> list[str]:
        """The keys that are shown as one group, its own among them."""
        return sorted({key, *(merged for merged, shown in self.merged.items() if shown == key)})

    def everything(self) -> Scope:
        """All that failed under the same profile."""
        return replace(self, where=self.where[:1], since=None, until=None)

    def of(self, *keys: str) -> Scope:
        """Those of a few groups."""
        stored = [same for key in keys for same in self.keys(key)]
        return replace(self, where=(*self.where, FailedResponse.group_key.in_(stored)))

    def grouped(self, db: orm.Session, *columns: Any, by: Sequence[Any] = ()) -> Sequence[Any]:
        """`key`, the values that it is divided `by`, and `columns` of each group."""
        query = sa.select(self.key.label("key"), *by, *columns).select_from(FailedResponse).where(*self.where)
        return db.execute(query.group_by(sa.literal_column("1"), *by)).all()


def scope(db: orm.Session, filters: Filters) -> Scope:
    """What the filters leave. Raises `BadFilter`."""
    since, until = (None if when is None else microseconds(when) for when in filters.span())
    bare = replace(filters, since=None, until=None, model=None, agent=None, phase=None, tool=None, label=None)
    view = sessions.view(db, bare)
    unlisted = deleted if filters.dump else hidden
    here = sa.and_(FailedResponse.under == filters.under, FailedResponse.session_id.not_in(unlisted))
    where = [here, *_of_response(db, filters)]
    where += [] if since is None else [FailedResponse.at >= since]
    where += [] if until is None else [FailedResponse.at < until]
    if view.is_narrowed():
        where.append(unindexed(FailedResponse.session_id).in_(view.ids()))
    return Scope(filters, view, tuple(where), events.merges(db), since, until)


def _of_response(db: orm.Session, filters: Filters) -> list[Condition]:
    names = ("model", "agent", "phase")
    where = [getattr(FailedResponse, name) == value for name in names if (value := getattr(filters, name)) is not None]
    if filters.tool is not None:
        lists = db.scalars(sa.select(FailedResponse.tools).distinct().where(FailedResponse.under == filters.under))
        where.append(FailedResponse.tools.in_([tools for tools in lists if filters.tool in (tools or ())]))
    if filters.label is not None:
        labelled = sa.exists().where(Label.turn_id == FailedResponse.turn_id)
        where.append(~labelled if filters.label == "unlabelled" else labelled)
    return where


def coverage(db: orm.Session, here: Scope) -> Coverage:
    """How many responses the filters leave in all."""
    model = here.filters.model
    counted = _counted(db, here, by_model=model is not None)
    found = Coverage(None, None) if counted is None else counted.get(model, Coverage(0, 0))
    return found if counted is None else replace(found, assumed=assumed(db, here.view))


def run_by_model(db: orm.Session, here: Scope) -> dict[str | None, int | None]:
    """Of how many responses of each model that the filters leave is known whether they failed, where it is."""
    counted = _counted(db, here, by_model=True) or {}
    return {model: found.run for model, found in counted.items()}


def _counted(db: orm.Session, here: Scope, *, by_model: bool) -> dict[str | None, Coverage] | None:
    """By model, or under None all; None where nobody counts them.

    Of sessions that lie within the filters' time counters say it; in those astride of its ends turns are counted.
    """
    filters = here.filters
    if any(getattr(filters, name) is not None for name in _UNCOUNTED):
        return None
    since, until = filters.span()
    inside: list[Condition] = [] if since is None else [Session.happened_at >= since]
    inside += [] if until is None else [sa.func.coalesce(Session.ended_at, Session.happened_at) < until]
    counted = (_of_models if by_model else _of_all)(db, [*here.view.where(), *inside], filters.under)
    bounds = [bound for bound in (since, until) if bound is not None]
    astride = [sa.and_(Session.ended_at >= bound, Session.happened_at < bound) for bound in bounds]
    for model, run, of in _of_turns(db, here, sa.or_(*astride), by_model=by_model) if astride else ():
        found = counted.get(model, Coverage(0, 0))
        if found.run is not None and found.of is not None:
            counted[model] = Coverage(found.run + run, found.of + of)
    return counted


def assumed(db: orm.Session, view: View) -> int:
    """How many responses in view are read as `json.loads`, since nobody named their parser."""
    unknown = [*view.where(), Session.home_profile == UNKNOWN]
    return _total(db, unknown, "asked") if view.filters.under == HOME else 0


def _of_all(db: orm.Session, where: list[Condition], under: str) -> dict[str | None, Coverage]:
    of = int(db.scalar(sa.select(sa.func.sum(Session.response_count)).where(*where)) or 0)
    run = of - _total(db, where, f"verdict {HOME}", value=NOT_RUN) if under == HOME else None
    return {None: Coverage(_total(db, where, f"verdict {under}") if run is None else run, of)}


def _of_models(db: orm.Session, where: list[Condition], under: str) -> dict[str | None, Coverage]:
    """Under a profile that was not run over all, it is not counted over which models it was."""
    here = sa.select(Session.id).where(*where)
    counts = facets.totals(db, here, [f"model {OURS} {verdict}" for verdict in VERDICTS])
    if under == HOME:
        not_run = facets.totals(db, here, [f"model {HOME} {NOT_RUN}"])
        return {model: Coverage(of - not_run.get(model, 0), of) for model, of in counts.items()}
    every = _of_all(db, where, under)[None]
    is_known = under == OURS or every.run == every.of
    return {model: Coverage(of, of) if is_known else Coverage(None, None) for model, of in counts.items()}


def _total(db: orm.Session, where: list[Condition], *names: str, value: str | None = None) -> int:
    return facets.total(db, sa.select(Session.id).where(*where), names, value)


def _of_turns(db: orm.Session, here: Scope, astride: Condition, *, by_model: bool) -> Sequence[Any]:
    """Of some sessions, those responses that were sent within the filters' time: model, and as `Coverage` has them."""
    filters = here.filters
    since, until = filters.span()
    sent = sa.func.coalesce(Turn.sent_at, Session.happened_at)
    name = Session.home_profile if filters.under == HOME else sa.literal(filters.under)
    parsed: Condition = sa.exists().where(Parse.turn_id == Turn.id, Parse.profile == name)
    parsed = sa.or_(parsed, Session.home_profile == UNKNOWN) if filters.under == HOME else parsed
    model = Turn.model if by_model else sa.null()
    query = sa.select(model, sa.func.count(sa.case((parsed, 1))), sa.func.count()).select_from(Session)
    query = query.join(Turn, Turn.session_id == Session.id).where(is_response)
    query = query.where(Turn.session_id.in_(sa.select(Session.id).where(astride, *here.view.where())))
    query = query if since is None else query.where(sent >= since)
    query = query if until is None else query.where(sent < until)
    return db.execute(query.group_by(model) if by_model else query).all()

"""Failure groups under the list's filters: how many responses, since when, in what model, which are new and which grow.

`read` answers for the list, a group's own page, the API, the feed, the webhook and the command.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import sqrt
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import jsontext
from webapp.parsing import failure_group
from webapp.store.db.ids import microseconds, moment
from webapp.store.failures import events
from webapp.store.failures.group import COLUMNS, NAMES, Example, Group, Groups, Spent
from webapp.store.failures.scope import Scope, coverage, scope
from webapp.store.models import FacetValue, FailedResponse, FailureEvent, Label, Session, SessionFacet, Turn
from webapp.store.sessions.facets import top
from webapp.store.sessions.filters import Filters, cursor_number

NEW = timedelta(days=7)
"""how long before now a group that is first seen is new, where the filters have no since"""
MOST_VALUES = 8
BUCKETS = 24
Rows = Sequence[Sequence[Any]]


class Known(NamedTuple):
    """What of a group is stored under its profile, whatever the other filters; times in microseconds."""

    key: str
    model: str | None
    profile: str
    version: str
    responses: int
    first: int
    last: int


def page(
    db: orm.Session,
    filters: Filters,
    *,
    after: str | None = None,
    limit: int = 50,
    only_new: bool = False,
    now: datetime | None = None,
    axis: tuple[datetime, datetime] | None = None,
    new_since: datetime | None = None,
) -> Groups:
    """The groups of the failed responses that the filters leave; their series begin with `axis` and end no sooner.
    Without a filter since, what was first seen after `new_since` is new, else what was in the last 7 days.

    Raises `BadFilter` and `BadCursor`.
    """
    found = read(db, scope(db, filters), now or datetime.now(UTC), axis, new_since)
    chosen = [group for group in found.groups if group.is_new or group.new_models or not only_new]
    start = cursor_number(after) or 0
    shown = chosen[start : start + limit]
    places = examples(db, (group.newest for group in shown))
    for group in shown:
        group.example = places.get(group.newest)
    following = str(start + limit) if len(chosen) > start + limit else None
    return replace(found, groups=shown, next=following, total=len(chosen))


def read(
    db: orm.Session,
    here: Scope,
    now: datetime,
    axis: tuple[datetime, datetime] | None = None,
    new_since: datetime | None = None,
) -> Groups:
    """All groups of a scope, without their examples; the rest as `page` says."""
    rows, covered = _rows(db, here), coverage(db, here)
    known = _known(db, here.everything() if len(rows) > 1 else here.everything().of(*rows))
    window = _window(db, here, now, new_since)
    labelled, rules = set(db.scalars(sa.select(Label.turn_id).distinct())), _rules(db)
    states, assigned = events.in_force(db, "state"), events.in_force(db, "assign")
    groups = [_group(key, rows[key], known[key], window, labelled, rules) for key in rows if key in known]
    stretch = _stretch(here, groups, axis)
    for group in groups:
        group.share = group.count / covered.run if covered.run else None
        group.series = _series([row[_AT] for row in rows[group.key]], stretch)
        group.growth = growth(group.series)
        group.merged = [key for key in here.keys(group.key) if key != group.key]
        group.event = states.get(group.key)
        group.state, group.why = _state(group.event, known[group.key], now)
        group.assignee = assigned[group.key].assignee if group.key in assigned else None
    return Groups(
        groups=sorted(groups, key=_order),
        next=None,
        total=len(groups),
        count=sum(group.count for group in groups),
        new=sum(group.is_new or bool(group.new_models) for group in groups),
        coverage=covered,
        range=(moment(stretch[0]), moment(stretch[1])) if groups else None,
        window=(moment(window[0]), moment(window[1])),
    )


_AT = 3
"""where a row has its time"""


def _rows(db: orm.Session, here: Scope) -> dict[str, Rows]:
    """The failed responses by group. They are counted here: SQLite would sort them again for each thing counted."""
    columns = (FailedResponse.turn_id, FailedResponse.session_id, FailedResponse.at, FailedResponse.model)
    tools = sa.type_coerce(FailedResponse.tools, sa.LargeBinary())
    rows: dict[str, list[Sequence[Any]]] = defaultdict(list)
    query = sa.select(here.key, *columns, FailedResponse.path, tools, *COLUMNS).where(*here.where)
    for row in db.connection().execute(query).all():
        rows[row[0]].append(row)
    return dict(rows)


def _known(db: orm.Session, everything: Scope) -> dict[str, list[Known]]:
    by = (FailedResponse.model, FailedResponse.profile, FailedResponse.version)
    numbers = (sa.func.count(), sa.func.min(FailedResponse.at), sa.func.max(FailedResponse.at))
    known: dict[str, list[Known]] = defaultdict(list)
    for row in everything.grouped(db, *numbers, by=by):
        known[row.key].append(Known(*row))
    return dict(known)


def _rules(db: orm.Session) -> dict[int, list[str]]:
    """The rules that noticed something in a session."""
    query = sa.select(SessionFacet.session_id, FacetValue.value).where(FacetValue.name == "finding")
    rules: dict[int, list[str]] = defaultdict(list)
    for session_id, rule in db.connection().execute(query.join(FacetValue, FacetValue.id == SessionFacet.value_id)):
        rules[session_id].append(rule)
    return rules


def _window(db: orm.Session, here: Scope, now: datetime, new_since: datetime | None) -> tuple[int, int]:
    """Within which what is first seen is new, in microseconds: without a filter since and `new_since` not before `NEW`,
    nor in the first tenth of the time since the first session, an hour at least, because everything is first seen
    then."""
    until = microseconds(now) if here.until is None else here.until
    if here.since is not None or new_since is not None:
        return here.since if here.since is not None else microseconds(new_since or now), until
    bounds = [sa.select(bound(Session.happened_at)).where(*here.view.where()) for bound in (sa.func.min, sa.func.max)]
    begun, last = (db.scalar(query) for query in bounds)
    if begun is None or last is None:
        return microseconds(now - NEW), until
    return microseconds(max(now - NEW, begun + max(timedelta(hours=1), (min(last, now) - begun) / 10))), until


def _group(
    key: str,
    rows: Rows,
    known: Sequence[Known],
    window: tuple[int, int],
    labelled: set[int],
    rules: dict[int, list[str]],
) -> Group:
    _, turns, sessions, times, models, paths, tools, *spent = zip(*rows, strict=True)
    in_sessions, names = set(sessions), Counter[str]()
    for data, count in Counter(tools).items():
        names.update(dict.fromkeys([] if data is None else jsontext.loads(bytes(data)), count))
    firsts: dict[str | None, int] = {}
    for row in known:
        firsts[row.model] = min(row.first, firsts.get(row.model, row.first))
    new_models = {model for model in firsts.keys() & set(models) if window[0] <= firsts[model] <= window[1]}
    first = min(firsts.values())
    is_new = window[0] <= first <= window[1]
    return Group(
        key,
        failure_group.title(key),
        len(rows),
        len(in_sessions),
        moment(min(times)),
        moment(max(times)),
        max(zip(times, turns, strict=True))[1],
        *top(Counter(models), None, MOST_VALUES),
        *top(names, None, MOST_VALUES),
        *top(Counter(path for path in paths if path is not None), None, MOST_VALUES),
        labelled=len(labelled.intersection(turns)),
        findings=dict(Counter(rule for number in in_sessions & rules.keys() for rule in rules[number]).most_common()),
        spent=_spent(spent),
        known_since=moment(first),
        is_new=is_new,
        new_models=[] if is_new else sorted(model for model in new_models if model is not None),
    )


def _spent(values: Iterable[Sequence[Any]]) -> Spent:
    """What responses cost of which these are the values: each of the four for all responses."""
    spent: Spent = {}
    for name, of_all in zip(NAMES, values, strict=True):
        numbers = [value for value in of_all if value is not None]
        spent |= {name: sum(numbers) if numbers else None, f"{name}_said": len(numbers)}
    return spent


def _stretch(here: Scope, groups: Sequence[Group], axis: tuple[datetime, datetime] | None) -> tuple[int, int]:
    """First and last microsecond that the series go over."""
    low = min((microseconds(group.first_seen) for group in groups), default=0) if here.since is None else here.since
    high = max((microseconds(group.last_seen) for group in groups), default=0)
    high = high if here.until is None else here.until - 1
    return (low, high) if axis is None else (microseconds(axis[0]), max(high, microseconds(axis[1]) - 1))


def _series(times: Iterable[int], stretch: tuple[int, int]) -> tuple[int, ...]:
    low, high = stretch
    buckets = Counter((at - low) * BUCKETS // (high + 1 - low) for at in times)
    return tuple(buckets[number] for number in range(BUCKETS))


def growth(series: Sequence[int]) -> float:
    """How much more there is in the second half than in the first, in standard deviations of what chance does."""
    earlier, later = sum(series[: len(series) // 2]), sum(series[len(series) // 2 :])
    return round((later - earlier) / sqrt(later + earlier), 3) if later + earlier else 0.0


def _state(event: FailureEvent | None, known: Sequence[Known], now: datetime) -> tuple[str, str | None]:
    if event is None or event.state not in ("ignored", "resolved"):
        return "open", None
    if event.state == "ignored":
        why = events.ignored(event, sum(row.responses for row in known), now)
        return ("open", why) if why else ("ignored", None)
    why = events.regressed(event, max(row.last for row in known), ((row.profile, row.version) for row in known))
    return ("regressed", why) if why else ("resolved", None)


def _order(group: Group) -> tuple[Any, ...]:
    rank = 0 if group.is_new or group.state == "regressed" else 1 if group.new_models else 2
    if group.state in ("resolved", "ignored"):
        rank = 4
    elif rank == 2 and group.growth < 2:
        rank = 3
    return rank, -group.growth if rank == 2 else 0, -group.count, group.key


def largest(db: orm.Session, limit: int) -> list[tuple[str, str]]:
    """Key and title of the groups with most responses, whenever those were."""
    counts: dict[str, int] = dict(scope(db, Filters()).grouped(db, sa.func.count()))
    return [(key, failure_group.title(key)) for key, _ in top(counts, None, limit)[0]]


def members(db: orm.Session, key: str, filters: Filters) -> list[int]:
    """The turns of all responses of a group under the filters, the newest first."""
    here = scope(db, filters)
    return turns_in(db, here.of(here.merged.get(key, key)))


def turns_in(db: orm.Session, here: Scope, limit: int | None = None) -> list[int]:
    """The turns of the failed responses of a scope, the newest first."""
    query = sa.select(FailedResponse.turn_id).where(*here.where)
    return list(db.scalars(query.order_by(FailedResponse.at.desc(), FailedResponse.turn_id.desc()).limit(limit)))


def examples(db: orm.Session, turn_ids: Iterable[int]) -> dict[int, Example]:
    """Where these turns are shown, by turn; one that is gone meanwhile is left out."""
    query = sa.select(Turn.id, Session.key, Session.external_id, Turn.position)
    query = query.join(Session, Session.id == Turn.session_id).where(Turn.id.in_(list(turn_ids)))
    return {row.id: Example(*row) for row in db.execute(query)}

"""The list of failure groups under the list's filters: what is new, what grows, how many, since when, in what model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import sqrt
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing import failure_group
from webapp.store.db.ids import microseconds, moment
from webapp.store.failures import events, group_line
from webapp.store.failures.group_line import Example, Facts, GroupLine, Groups
from webapp.store.failures.scope import Coverage, Scope, coverage, scope
from webapp.store.models import FailedResponse, FailureEvent, Session, Turn
from webapp.store.sessions.facets import top
from webapp.store.sessions.filters import Filters, cursor_number

NEW = timedelta(days=7)
"""how long before now a group that is first seen is new, where the filters have no since"""
MOST_VALUES = 8


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
    lines = of_filters(db, filters, now or datetime.now(UTC), axis=axis)
    if new_since is not None and lines.scope.since is None:
        lines.window = (microseconds(new_since), lines.window[1])
    all_lines = [lines.line(key) for key in lines.facts]
    new = [line for line in all_lines if line.is_new or line.new_models]
    chosen = sorted(new if only_new else all_lines, key=_order)
    start = cursor_number(after) or 0
    shown = chosen[start : start + limit]
    examples_by_turn = examples(db, (lines.facts[line.key].newest for line in shown))
    for line in shown:
        line.example = examples_by_turn.get(lines.facts[line.key].newest)
    return Groups(
        groups=shown,
        next=str(start + limit) if len(chosen) > start + limit else None,
        total=len(chosen),
        count=sum(line.count for line in all_lines),
        new=len(new),
        coverage=lines.coverage,
        range=None if lines.range is None else (moment(lines.range[0]), moment(lines.range[1])),
        window=(moment(lines.window[0]), moment(lines.window[1])),
    )


def of_filters(
    db: orm.Session,
    filters: Filters,
    now: datetime,
    key: str | None = None,
    axis: tuple[datetime, datetime] | None = None,
) -> Lines:
    """The groups in view, or the one of them with that key, and what makes lines of them. Raises `BadFilter`."""
    every = scope(db, filters)
    scope_in_view = every if key is None else every.of(key)
    facts = group_line.facts(db, scope_in_view)
    stretch = _range(every, group_line.counts(db, every).values() if key is not None else facts.values())
    if stretch is not None and axis is not None:
        stretch = microseconds(axis[0]), max(stretch[1], microseconds(axis[1]) - 1)
    everywhere = facts
    if not every.is_everything:
        everywhere = group_line.everywhere(db, every.everything() if key is None else every.everything().of(key))
    if stretch is not None:
        group_line.add_series(facts, stretch)
    since = every.since if every.since is not None else _new_since(db, every, now)
    people = (events.in_force(db, "state"), events.in_force(db, "assign"))
    return Lines(scope_in_view, facts, everywhere, people, now, since, stretch, coverage(db, every))


def _new_since(db: orm.Session, every: Scope, now: datetime) -> int:
    """Since when what is first seen is new, in microseconds: not before `NEW`, nor in the first tenth of the time since
    the first session, an hour at least, because everything is first seen then."""
    bounds = [sa.select(bound(Session.happened_at)).where(*every.view.where()) for bound in (sa.func.min, sa.func.max)]
    begun, last = (db.scalar(query) for query in bounds)
    if begun is None or last is None:
        return microseconds(now - NEW)
    return microseconds(max(now - NEW, begun + max(timedelta(hours=1), (min(last, now) - begun) / 10)))


def largest(db: orm.Session, limit: int) -> list[tuple[str, str]]:
    """Key and title of the groups with most responses, whenever those were."""
    everything = scope(db, Filters())
    facts = group_line.counts(db, everything)
    ordered = sorted(facts, key=lambda key: (-facts[key].count, key))
    return [(key, failure_group.title(key)) for key in ordered[:limit]]


def members(db: orm.Session, key: str, filters: Filters) -> list[int]:
    """The turns of all responses of a group under the filters, the newest first."""
    here = scope(db, filters)
    return turns_in(db, here.of(events.shown_as(here.merged)(key)))


def turns_in(db: orm.Session, scope_in_view: Scope, limit: int | None = None) -> list[int]:
    """The turns of the failed responses of a scope, the newest first."""
    query = sa.select(FailedResponse.turn_id).where(*scope_in_view.where)
    return list(db.scalars(query.order_by(FailedResponse.at.desc(), FailedResponse.turn_id.desc()).limit(limit)))


@dataclass
class Lines:
    """Makes lines of the groups in one scope, of which `everywhere` has what no filter but the profile leaves."""

    scope: Scope
    facts: dict[str, Facts]
    everywhere: dict[str, Facts]
    people: tuple[dict[str, FailureEvent], dict[str, FailureEvent]]
    """states and assignments"""
    now: datetime
    new_since: int
    range: tuple[int, int] | None
    coverage: Coverage

    def __post_init__(self) -> None:
        until = self.scope.until
        self.window = (self.new_since, microseconds(self.now) if until is None else until)
        self._shown = events.shown_as(self.scope.merged)

    def line(self, key: str) -> GroupLine:
        facts, everywhere = self.facts[key], self.everywhere.get(key, self.facts[key])
        is_new = self._in_window(everywhere.first)
        values: dict[str, Any] = {}
        for name in ("models", "tools", "paths"):
            values[name], values[f"more_{name}"] = top(getattr(facts, name), None, MOST_VALUES)
        state, why = self._state(key, everywhere)
        states, assignments = self.people
        assignment = assignments.get(key)
        return GroupLine(
            key=key,
            title=failure_group.title(key),
            count=facts.count,
            share=facts.count / self.coverage.run if self.coverage.run else None,
            sessions=facts.sessions,
            first_seen=moment(facts.first),
            last_seen=moment(facts.last),
            known_since=moment(everywhere.first),
            series=tuple(facts.series),
            **values,
            labelled=facts.labelled,
            findings=dict(facts.findings.most_common()),
            state=state,
            why=why,
            event=states.get(key),
            assignee=None if assignment is None else assignment.assignee,
            is_new=is_new,
            new_models=[] if is_new else self._new_models(facts, everywhere),
            growth=growth(facts.series),
            merged=sorted(merged for merged in self.scope.merged if merged != key and self._shown(merged) == key),
            example=None,
            spent=facts.spent,
        )

    def _in_window(self, when: int) -> bool:
        return self.window[0] <= when < self.window[1] + 1

    def _new_models(self, facts: Facts, everywhere: Facts) -> list[str]:
        firsts = everywhere.first_by_model
        return sorted(model for model in facts.models if model is not None and self._in_window(firsts[model]))

    def _state(self, key: str, everywhere: Facts) -> tuple[str, str | None]:
        event = self.people[0].get(key)
        if event is not None and event.state == "ignored":
            why = events.ignored(event, everywhere.count, self.now)
            return ("open", why) if why else ("ignored", None)
        if event is not None and event.state == "resolved":
            why = events.regressed(event, everywhere.last, everywhere.versions)
            return ("regressed", why) if why else ("resolved", None)
        return "open", None


def growth(series: Sequence[int]) -> float:
    """How much more there is in the second half than in the first, in standard deviations of what chance does."""
    earlier, later = sum(series[: len(series) // 2]), sum(series[len(series) // 2 :])
    return round((later - earlier) / sqrt(later + earlier), 3) if later + earlier else 0.0


def _range(scope_in_view: Scope, groups: Iterable[Facts]) -> tuple[int, int] | None:
    bounds = [(facts.first, facts.last) for facts in groups]
    if not bounds:
        return None
    first, last = min(low for low, _ in bounds), max(high for _, high in bounds)
    return (first if scope_in_view.since is None else scope_in_view.since), (
        last if scope_in_view.until is None else scope_in_view.until - 1
    )


def _order(line: GroupLine) -> tuple[Any, ...]:
    rank = 0 if line.is_new or line.state == "regressed" else 1 if line.new_models else 2
    if line.state in ("resolved", "ignored"):
        rank = 4
    elif rank == 2 and line.growth < 2:
        rank = 3
    return rank, -line.growth if rank == 2 else 0, -line.count, line.key


def examples(db: orm.Session, turn_ids: Iterable[int]) -> dict[int, Example]:
    """Where these turns are shown, by turn; one that is gone meanwhile is left out."""
    ids = list(turn_ids)
    query = sa.select(Turn.id, Session.key, Session.external_id, Turn.position)
    query = query.join(Session, Session.id == Turn.session_id).where(Turn.id.in_(ids))
    return {row.id: Example(*row) for row in db.execute(query)} if ids else {}

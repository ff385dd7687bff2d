"""The list of failure groups under the list's filters: what is new, what grows, how many, since when, in what model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import sqrt
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing import failure_group
from webapp.store.failures import events, overlay
from webapp.store.failures.group_line import Example, GroupLine, Groups
from webapp.store.failures.group_sets import GroupPlaces, first_and_last, newest_turn, together, versions
from webapp.store.failures.scope import Coverage, Scope, coverage, scope
from webapp.store.failures.segment import Segment
from webapp.store.index.bit_sliced_index import Bits
from webapp.store.index.order import BadCursor
from webapp.store.index.session_reader import microseconds, moment
from webapp.store.models import FailureEvent, FailureOverlay, Session, Turn
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.narrowing import top

BUCKETS = 24
NEW = timedelta(days=7)
"""how long before now a group that is first seen is new, where the filters have no since"""
MOST_VALUES = 8


@dataclass(frozen=True, slots=True)
class People:
    """What people say of all groups."""

    changes: tuple[FailureOverlay, ...]
    states: dict[str, FailureEvent]
    assignments: dict[str, FailureEvent]


def page(
    db: orm.Session,
    filters: Filters,
    *,
    after: str | None = None,
    limit: int = 50,
    only_new: bool = False,
    now: datetime | None = None,
) -> Groups:
    """The groups of the failed responses that the filters leave. Raises `BadFilter` and `BadCursor`."""
    groups_in_view, spoken_of = lines(db, filters, now or datetime.now(UTC))
    all_lines = [spoken_of.line(key, places) for key, places in groups_in_view.items()]
    new = [line for line in all_lines if line.is_new or line.new_models]
    chosen = sorted(new if only_new else all_lines, key=_order)
    start = _start(after)
    lines_of_page = _with_examples(db, chosen[start : start + limit], groups_in_view)
    stretch = spoken_of.range
    return Groups(
        lines_of_page,
        str(start + limit) if len(chosen) > start + limit else None,
        len(chosen),
        sum(line.count for line in all_lines),
        len(new),
        spoken_of.coverage,
        None if stretch is None else (moment(stretch[0]), moment(stretch[1])),
        (moment(spoken_of.window[0]), moment(spoken_of.window[1])),
        sum(line.count for line in all_lines if line.algorithm != failure_group.VERSION),
    )


def lines(db: orm.Session, filters: Filters, now: datetime) -> tuple[dict[str, GroupPlaces], Lines]:
    """The groups in view, and what makes lines of them. Raises `BadFilter`."""
    scope_in_view, people = scope(db, filters), People(overlay.in_force(db), *events.in_force(db))
    groups = _groups(scope_in_view, scope_in_view.views, people.changes)
    unfiltered = _groups(scope_in_view, [part.alive for part in scope_in_view.snapshot.parts], people.changes)
    stretch = _range(scope_in_view, groups.values())
    return groups, Lines(scope_in_view, people, unfiltered, now, stretch, coverage(db, scope_in_view))


def in_view(db: orm.Session, scope_in_view: Scope) -> dict[str, GroupPlaces]:
    """The groups of a scope, without lines of them."""
    return _groups(scope_in_view, scope_in_view.views, overlay.in_force(db))


def largest(db: orm.Session, limit: int) -> list[tuple[str, str]]:
    """Key and title of the groups with most responses, whenever those were."""
    groups_in_view, changes = in_view(db, scope(db, Filters())), overlay.in_force(db)
    counts = {key: sum(len(bits) for _, bits in places) for key, places in groups_in_view.items()}
    ordered = sorted(counts, key=lambda key: (-counts[key], key))
    return [(key, overlay.title(key, changes)) for key in ordered[:limit]]


@dataclass
class Lines:
    """Makes lines of groups in one scope."""

    scope: Scope
    people: People
    unfiltered: dict[str, GroupPlaces]
    now: datetime
    range: tuple[int, int] | None
    coverage: Coverage

    def __post_init__(self) -> None:
        since, until = self.scope.since, self.scope.until
        self.window = (
            microseconds(self.now - NEW) if since is None else since,
            microseconds(self.now) if until is None else until,
        )
        self._shown = overlay.shown_as(self.people.changes)
        self._merged = {change.group_key for change in self.people.changes if change.kind == "merge"}
        low, high = self.range or (0, 0)
        bounds = [low + (high + 1 - low) * number // BUCKETS for number in range(BUCKETS + 1)]
        segments = [part.segment for part in self.scope.snapshot.parts]
        self._bounds = {id(segment): list(map(segment.place, bounds)) for segment in segments}
        """by segment, the places where the stretches of the range begin, and where the last one ends"""

    def line(self, key: str, places: GroupPlaces) -> GroupLine:
        facts = together(places, key)
        first, last = first_and_last(places)
        everywhere = self.unfiltered.get(key, places)
        known_since = first_and_last(everywhere)[0]
        is_new = self._in_window(known_since)
        models, more_models = top(facts.models, None, MOST_VALUES)
        tools, more_tools = top(facts.tools, None, MOST_VALUES)
        paths, more_paths = top(facts.paths, None, MOST_VALUES)
        series = self._series(places)
        state, why = self._state(key, everywhere)
        assignment = self.people.assignments.get(key)
        return GroupLine(
            key=key,
            title=overlay.title(key, self.people.changes),
            count=facts.count,
            share=facts.count / self.coverage.run if self.coverage.run else None,
            sessions=facts.sessions,
            first_seen=moment(first),
            last_seen=moment(last),
            known_since=moment(known_since),
            series=series,
            models=models,
            more_models=more_models,
            tools=tools,
            more_tools=more_tools,
            paths=paths,
            more_paths=more_paths,
            labelled=facts.labelled,
            findings=dict(facts.findings.most_common()),
            state=state,
            why=why,
            event=self.people.states.get(key),
            assignee=None if assignment is None else assignment.assignee,
            is_new=is_new,
            new_models=[] if is_new else self._new_models(facts.models, everywhere),
            growth=growth(series),
            merged=sorted(merged for merged in self._merged if merged != key and self._shown(merged) == key),
            algorithm=failure_group.version(key),
            example=None,
        )

    def _in_window(self, when: int) -> bool:
        return self.window[0] <= when < self.window[1] + 1

    def _series(self, places: GroupPlaces) -> tuple[int, ...]:
        if self.range is None:
            return ()
        counts = [0] * BUCKETS
        for segment, bits in places:
            for number, stretch in enumerate(pairwise(self._bounds[id(segment)])):
                counts[number] += bits.range_cardinality(*stretch)
        return tuple(counts)

    def _new_models(self, models: Iterable[str | None], everywhere: GroupPlaces) -> list[str]:
        firsts: dict[str | None, int] = {}
        for segment, bits in everywhere:
            for model, when in segment.first_by_model(bits).items():
                firsts[model] = min(when, firsts.get(model, when))
        return sorted(model for model in models if model is not None and self._in_window(firsts[model]))

    def _state(self, key: str, everywhere: GroupPlaces) -> tuple[str, str | None]:
        event = self.people.states.get(key)
        if event is not None and event.state == "ignored":
            why = events.ignored(event, sum(len(bits) for _, bits in everywhere), self.now)
            return ("open", why) if why else ("ignored", None)
        if event is not None and event.state == "resolved":
            why = events.regressed(event, first_and_last(everywhere)[1], versions(everywhere))
            return ("regressed", why) if why else ("resolved", None)
        return "open", None


def _groups(scope_in_view: Scope, views: Sequence[Bits], changes: Sequence[FailureOverlay]) -> dict[str, GroupPlaces]:
    """The groups as people see them."""
    groups: dict[str, list[tuple[Segment, Bits]]] = {}
    for part, view in zip(scope_in_view.snapshot.parts, views, strict=True):
        for key, bits in overlay.apply(part.segment, view, changes).items():
            groups.setdefault(key, []).append((part.segment, bits))
    return {key: tuple(places) for key, places in groups.items()}


def growth(series: Sequence[int]) -> float:
    """How much more there is in the second half than in the first, in standard deviations of what chance does."""
    earlier, later = sum(series[: len(series) // 2]), sum(series[len(series) // 2 :])
    return (later - earlier) / sqrt(later + earlier) if later + earlier else 0.0


def _range(scope_in_view: Scope, groups: Iterable[GroupPlaces]) -> tuple[int, int] | None:
    bounds = [first_and_last(places) for places in groups]
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


def _start(after: str | None) -> int:
    if after is None:
        return 0
    if not (after.isascii() and after.isdecimal() and len(after) < 10):
        raise BadCursor("after is not what an earlier page gave as next")
    return int(after)


def _with_examples(db: orm.Session, lines: list[GroupLine], groups: dict[str, GroupPlaces]) -> list[GroupLine]:
    """The newest response of each group as its example."""
    newest = {line.key: newest_turn(groups[line.key]) for line in lines}
    examples_by_turn = examples(db, newest.values())
    return [replace(line, example=examples_by_turn.get(newest[line.key])) for line in lines]


def examples(db: orm.Session, turn_ids: Iterable[int]) -> dict[int, Example]:
    """Where these turns are shown, by turn; one that is gone meanwhile is left out."""
    ids = list(turn_ids)
    query = sa.select(Turn.id.label("turn_id"), Session.key.label("session"), Session.external_id, Turn.position)
    query = query.join(Session, Session.id == Turn.session_id).where(Turn.id.in_(ids))
    return {row.turn_id: Example(**row._mapping) for row in db.execute(query)} if ids else {}

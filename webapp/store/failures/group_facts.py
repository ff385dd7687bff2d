"""What is known of each failure group in view: how many, since when, by model, tool and path; each one statement."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.failures.scope import Scope
from webapp.store.models import FacetValue, FailedResponse, Label, SessionFacet

BUCKETS = 24
_count = sa.func.count().label("count")
_first, _last = sa.func.min(FailedResponse.at).label("first"), sa.func.max(FailedResponse.at).label("last")
_sessions = sa.func.count(FailedResponse.session_id.distinct()).label("sessions")
_labelled = sa.select(Label.turn_id).distinct().subquery("labelled")


@dataclass(slots=True)
class Facts:
    """What is known of a group; `findings` counts sessions, times are microseconds."""

    count: int
    sessions: int
    first: int
    last: int
    labelled: int = 0
    models: Counter[str | None] = field(default_factory=Counter)
    first_by_model: dict[str | None, int] = field(default_factory=dict)
    tools: Counter[str] = field(default_factory=Counter)
    paths: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    series: list[int] = field(default_factory=list)
    versions: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """of the parses that failed, by profile"""


def counts(db: orm.Session, scope: Scope) -> dict[str, Facts]:
    """How many and when alone."""
    rows = scope.grouped(db, _count, _sessions, _first, _last)
    return {row.key: Facts(row.count, row.sessions, row.first, row.last) for row in rows}


def of_all(db: orm.Session, scope: Scope) -> dict[str, Facts]:
    """What tells which group is new, is seen again or grows, without what only a line shows."""
    facts = counts(db, scope)
    for row in scope.grouped(db, _count, _first, by=[FailedResponse.model]):
        facts[row.key].models[row.model] = row.count
        facts[row.key].first_by_model[row.model] = row.first
    for row in scope.grouped(db, by=[FailedResponse.profile, FailedResponse.version]):
        if row.profile:
            facts[row.key].versions[row.profile].append(row.version)
    return facts


def add_series(db: orm.Session, scope: Scope, facts: dict[str, Facts], stretch: tuple[int, int]) -> None:
    """How many responses are in each of 24 equal stretches between these times."""
    low, high = stretch
    bucket = ((FailedResponse.at - low) * BUCKETS // (high + 1 - low)).label("bucket")
    for of_group in facts.values():
        of_group.series = [0] * BUCKETS
    for row in scope.grouped(db, _count, by=[bucket]):
        facts[row.key].series[min(max(row.bucket, 0), BUCKETS - 1)] += row.count


def add_shown(db: orm.Session, scope: Scope, facts: dict[str, Facts]) -> None:
    """What the lines of these groups show besides."""
    for row in scope.grouped(db, _count, by=[FailedResponse.path]):
        if row.path is not None:
            facts[row.key].paths[row.path] = row.count
    for row in scope.grouped(db, _count, by=[FailedResponse.tools]):
        facts[row.key].tools.update(dict.fromkeys(row.tools or (), row.count))
    for key, rule, count in db.execute(_of_findings(scope)):
        facts[key].findings[rule] = count
    add_labelled(db, scope, facts)


def add_labelled(db: orm.Session, scope: Scope, facts: dict[str, Facts]) -> None:
    """How many of the responses have a label."""
    query = sa.select(scope.key.label("key"), _count).select_from(FailedResponse).where(*scope.where)
    query = query.join(_labelled, _labelled.c.turn_id == FailedResponse.turn_id)
    for key, count in db.execute(query.group_by(sa.literal_column("1"))):
        facts[key].labelled = count


def _of_findings(scope: Scope) -> Any:
    query = sa.select(scope.key.label("key"), FacetValue.value, _sessions).select_from(FailedResponse)
    query = query.join(SessionFacet, SessionFacet.session_id == FailedResponse.session_id)
    query = query.join(FacetValue, FacetValue.id == SessionFacet.value_id)
    query = query.where(*scope.where, FacetValue.name == "finding")
    return query.group_by(sa.literal_column("1"), FacetValue.value)

"""What is known of each failure group in view: how many, since when, by model, tool and path; counted in one pass."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import jsontext
from webapp.store.failures import group_line
from webapp.store.failures.scope import Scope
from webapp.store.models import FacetValue, FailedResponse, Label, SessionFacet

BUCKETS = 24
_count = sa.func.count().label("count")
_sessions = sa.func.count(FailedResponse.session_id.distinct()).label("sessions")
_first, _last = sa.func.min(FailedResponse.at).label("first"), sa.func.max(FailedResponse.at).label("last")
_columns = (
    *(FailedResponse.turn_id, FailedResponse.session_id, FailedResponse.at, FailedResponse.model, FailedResponse.path),
    *(sa.type_coerce(FailedResponse.tools, sa.LargeBinary()), FailedResponse.profile, FailedResponse.version),
    *group_line.COLUMNS,
)


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
    times: Sequence[int] = ()
    series: list[int] = field(default_factory=list)
    versions: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """of the parses that failed, by profile"""
    spent: group_line.Spent = field(default_factory=dict)


def counts(db: orm.Session, scope: Scope) -> dict[str, Facts]:
    """How many and when alone."""
    rows = scope.grouped(db, _count, _sessions, _first, _last)
    return {row.key: Facts(row.count, row.sessions, row.first, row.last) for row in rows}


def of_all(db: orm.Session, scope: Scope) -> dict[str, Facts]:
    """All but the series. The rows are counted here: SQLite would sort them again for each thing that is counted."""
    rows: dict[str, list[Sequence[Any]]] = defaultdict(list)
    for row in db.connection().execute(sa.select(scope.key, *_columns).where(*scope.where)):
        rows[row[0]].append(row)
    labelled, rules = set(db.scalars(sa.select(Label.turn_id).distinct())), _rules(db)
    return {key: _facts(of_group, labelled, rules) for key, of_group in rows.items()}


def _facts(rows: Sequence[Sequence[Any]], labelled: set[int], rules: dict[int, list[str]]) -> Facts:
    _, turns, sessions, times, models, paths, tools, profiles, versions, *costs = zip(*rows, strict=True)
    facts = Facts(len(rows), len(set(sessions)), min(times), max(times), times=times, spent=group_line.added(costs))
    facts.labelled = len(labelled.intersection(turns)) if labelled else 0
    facts.models, facts.paths = Counter(models), Counter(path for path in paths if path is not None)
    facts.first_by_model = dict(sorted(zip(models, times, strict=True), key=itemgetter(1), reverse=True))
    for data, count in Counter(tools).items():
        for name in _names(data):
            facts.tools[name] += count
    for session_id in set(sessions) & rules.keys():
        facts.findings.update(rules[session_id])
    for profile, version in dict.fromkeys(zip(profiles, versions, strict=True)):
        if profile:
            facts.versions[profile].append(version)
    return facts


@lru_cache(maxsize=1024)
def _names(data: bytes | None) -> tuple[str, ...]:
    return () if data is None else tuple(jsontext.loads(bytes(data)))


def _rules(db: orm.Session) -> dict[int, list[str]]:
    """The rules that noticed something in a session."""
    query = sa.select(SessionFacet.session_id, FacetValue.value).where(FacetValue.name == "finding")
    rules: dict[int, list[str]] = defaultdict(list)
    for session_id, rule in db.connection().execute(query.join(FacetValue, FacetValue.id == SessionFacet.value_id)):
        rules[session_id].append(rule)
    return rules


def add_series(facts: dict[str, Facts], stretch: tuple[int, int]) -> None:
    """How many responses are in each of 24 equal stretches between these times."""
    low, high = stretch
    for of_group in facts.values():
        buckets = Counter((at - low) * BUCKETS // (high + 1 - low) for at in of_group.times)
        of_group.series = [buckets[number] for number in range(BUCKETS)]

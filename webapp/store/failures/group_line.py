"""A line of the list of failure groups with its rate and interval, a page of them, and the facts that they are made of,
which are counted in one pass."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from math import sqrt
from operator import itemgetter
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import jsontext
from webapp.store.failures.scope import Coverage, Scope
from webapp.store.models import FacetValue, FailedResponse, FailureEvent, Label, SessionFacet

COLUMNS = (FailedResponse.tokens_in, FailedResponse.tokens_out, FailedResponse.cost, FailedResponse.seconds)
NAMES = tuple(column.key for column in COLUMNS)
Spent = dict[str, float | None]
"""by name the sum, None where no response says it, and under `<name>_said` how many responses do"""


def added(values: Iterable[Sequence[Any]]) -> Spent:
    """What responses cost of which these are the values: each of the four for all responses."""
    spent: Spent = {}
    for name, of_all in zip(NAMES, values, strict=True):
        numbers = [value for value in of_all if value is not None]
        spent |= {name: sum(numbers) if numbers else None, f"{name}_said": len(numbers)}
    return spent


class Example(NamedTuple):
    """Where a response is shown: the session by its key, and by the id that its log has for it."""

    turn_id: int
    session: str
    external_id: str
    position: int


@dataclass(slots=True)
class GroupLine:
    """One group in view. Times are UTC; `share` is of all responses that the profile was run on, None where that number
    is not known; `series` counts responses in equal stretches of `Groups.range`.

    `models`, `tools` and `paths` have how many responses, most first, at most 8 (`more_models` … count the others); a
    model is None where the dump names none. `findings` says how many of its sessions have each finding. `state` is what
    somebody said (`event`), "regressed" where a resolved group is seen again, "open" where it was ignored no longer
    than until now; `why` says so in words. `is_new`: first seen in the window; `new_models`: known elsewhere, and first
    seen in these models in the window. `growth` compares both halves of the range: above 2 it grows for more reasons
    than chance. `merged` are the keys that people made part of it.
    """

    key: str
    title: str
    count: int
    share: float | None
    sessions: int
    first_seen: datetime
    last_seen: datetime
    known_since: datetime
    series: tuple[int, ...]
    models: list[tuple[str | None, int]]
    more_models: int
    tools: list[tuple[str, int]]
    more_tools: int
    paths: list[tuple[str, int]]
    more_paths: int
    labelled: int
    findings: dict[str, int]
    state: str
    why: str | None
    event: FailureEvent | None
    assignee: str | None
    is_new: bool
    new_models: list[str]
    growth: float
    merged: list[str]
    example: Example | None
    spent: Spent


@dataclass(frozen=True, slots=True)
class Groups:
    """A page of groups, those that are new, seen again or growing first. `total` groups hold `count` responses.

    `coverage` says of how many responses; `range` is what `series` goes over, None where nothing failed; `window` what
    is meant by new.
    """

    groups: list[GroupLine]
    next: str | None
    total: int
    count: int
    new: int
    coverage: Coverage
    range: tuple[datetime, datetime] | None
    window: tuple[datetime, datetime]


Z = 1.959963984540054
"""of 95 %"""


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `of`, and between which shares the true rate lies with 95 %: Wilson's score interval (1927), or one
    over sessions, where failures repeat within one.

    `of`, `low` and `high` are None where it is not known of how many.
    """

    name: str
    count: int
    of: int | None
    low: float | None
    high: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def share(self) -> float | None:
        return self.count / self.of if self.of else None


def rate(name: str, count: int, of: int | None) -> Rate:
    """The rate of `count` among `of`."""
    if not of:
        return Rate(name, count, of, None, None)
    low, high = wilson(min(count, of), of)
    return Rate(name, count, of, low, high)


def wilson(count: int, of: int) -> tuple[float, float]:
    """Wilson's score interval of a share, both ends within 0 and 1."""
    share, square = count / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z * sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return (max(0.0, middle - half) if count else 0.0), (min(1.0, middle + half) if count < of else 1.0)


BUCKETS = 24
_count = sa.func.count().label("count")
_sessions = sa.func.count(FailedResponse.session_id.distinct()).label("sessions")
_first, _last = sa.func.min(FailedResponse.at).label("first"), sa.func.max(FailedResponse.at).label("last")
_fact_columns = (
    *(FailedResponse.turn_id, FailedResponse.session_id, FailedResponse.at, FailedResponse.model, FailedResponse.path),
    *(sa.type_coerce(FailedResponse.tools, sa.LargeBinary()), FailedResponse.profile, FailedResponse.version),
    *COLUMNS,
)


@dataclass(slots=True)
class Facts:
    """What is known of a group; `findings` counts sessions, times are microseconds."""

    count: int
    sessions: int
    first: int
    last: int
    newest: int = 0
    """the turn of the last one"""
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
    spent: Spent = field(default_factory=dict)


def counts(db: orm.Session, scope: Scope) -> dict[str, Facts]:
    """How many and when alone."""
    rows = scope.grouped(db, _count, _sessions, _first, _last)
    return {row.key: Facts(row.count, row.sessions, row.first, row.last) for row in rows}


def everywhere(db: orm.Session, scope: Scope) -> dict[str, Facts]:
    """How many and when, in all, of each model and of which versions."""
    found: dict[str, Facts] = {}
    by = (FailedResponse.model, FailedResponse.profile, FailedResponse.version)
    for key, model, profile, version, count, first, last in scope.grouped(db, _count, _first, _last, by=by):
        facts = found.setdefault(key, Facts(0, 0, first, last))
        facts.count, facts.first, facts.last = facts.count + count, min(facts.first, first), max(facts.last, last)
        facts.first_by_model[model] = min(first, facts.first_by_model.get(model, first))
        if profile:
            facts.versions[profile].append(version)
    return found


def facts(db: orm.Session, scope: Scope) -> dict[str, Facts]:
    """All but the series. The rows are counted here: SQLite would sort them again for each thing that is counted."""
    rows: dict[str, list[Sequence[Any]]] = defaultdict(list)
    for row in db.connection().execute(sa.select(scope.key, *_fact_columns).where(*scope.where)).all():
        rows[row[0]].append(row)
    labelled, rules = set(db.scalars(sa.select(Label.turn_id).distinct())), _rules(db)
    return {key: _facts(of_group, labelled, rules) for key, of_group in rows.items()}


def _facts(rows: Sequence[Sequence[Any]], labelled: set[int], rules: dict[int, list[str]]) -> Facts:
    _, turns, sessions, times, models, paths, tools, profiles, versions, *costs = zip(*rows, strict=True)
    facts = Facts(len(rows), len(set(sessions)), min(times), max(times), times=times, spent=added(costs))
    facts.newest = max(zip(times, turns, strict=True))[1]
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

"""One failure group: its examples, who and when, its rates with intervals, and which profiles would have read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import failure_group
from webapp.refusals import NotThere
from webapp.store.db.ids import moment
from webapp.store.failures import events, groups
from webapp.store.failures.group_line import Example, GroupLine, Rate, rate
from webapp.store.failures.groups import MOST_VALUES
from webapp.store.failures.scope import OF_RESPONSE, Coverage, Scope, coverage, scope
from webapp.store.models import (
    TURNS_A_SESSION,
    FailedResponse,
    FailureEvent,
    Parse,
    Session,
)
from webapp.store.sessions.facets import top
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.write.tally import READABLE

MOST_EXAMPLES = 12
_CANDIDATES = 300
LOOKED_AT = 2_000
"""responses of a group, the newest, that are looked at for what other profiles make of them"""


class NoSuchGroup(NotThere):
    """No failed response is in that group, and nobody has spoken of it."""


class GroupExample(NamedTuple):
    """One response of a group: where it is shown, when it failed, and as what."""

    at: Example
    when: datetime
    model: str | None
    path: str | None
    tokens: str | None


@dataclass(frozen=True, slots=True)
class GroupDetail:
    """A group in view. `line` is None where the filters leave none of it; `asked` is the key that was asked for, and
    `key` the group that it was merged into; `merged` are those that are shown as `key`, also by way of others.

    `models` and `versions` are rates over all responses that the filters leave; `versions` is empty where a filter is
    set by which parses are not counted. `before` and `after` are both halves of the range, or with a `since` the same
    time before it and since then. `others_alike` says that each response which is no example has the tokens, path,
    model, phase and tool of one that is; of an example `at` says where it is. `readers` are the other profiles: of how
    many each `read` a value, of those that it was `run` on, of the `of` that were looked at.
    """

    asked: str
    key: str
    title: str
    coverage: Coverage
    merged: list[str]
    history: list[FailureEvent]
    line: GroupLine | None = None
    examples: list[GroupExample] = field(default_factory=list)
    others_alike: bool = True
    models: list[Rate] = field(default_factory=list)
    versions: list[Rate] = field(default_factory=list)
    before: Rate | None = None
    after: Rate | None = None
    tokens: list[tuple[str, int]] = field(default_factory=list)
    readers: list[dict[str, Any]] = field(default_factory=list)


def find(db: orm.Session, key: str, filters: Filters, *, now: datetime | None = None) -> GroupDetail:
    """The group with that key under the filters. Raises `NoSuchGroup` and `BadFilter`."""
    now = now or datetime.now(UTC)
    merges = events.merges(db)
    group_key = events.shown_as(merges)(key)
    lines = groups.of_filters(db, filters, now, group_key)
    merged = [group for group in events.aliases(merges, group_key) if group != group_key]
    history = events.history(db, group_key)
    if group_key not in lines.everywhere and not history:
        raise NoSuchGroup(f"no failure group has the key {key[:200]!r}")
    empty = GroupDetail(key, group_key, failure_group.title(group_key), lines.coverage, merged, history)
    if group_key not in lines.facts:
        return empty
    line, here = lines.line(group_key), lines.scope
    examples, others_alike = _examples(db, here)
    before, after = _before_and_after(db, filters, group_key, line, now)
    return replace(
        empty,
        line=line,
        examples=examples,
        others_alike=others_alike,
        models=[
            rate(model or "", count, None if model is None else coverage(db, here, model).run)
            for model, count in line.models
        ],
        versions=_by_version(db, here),
        before=before,
        after=after,
        tokens=top(_counter(db, here, FailedResponse.tokens), None, MOST_VALUES)[0],
        readers=_readers(db, groups.turns_in(db, here, LOOKED_AT), filters.under),
    )


def _counter(db: orm.Session, here: Scope, column: Any) -> Counter[Any]:
    query = sa.select(column, sa.func.count()).where(*here.where, column.is_not(None)).group_by(column)
    return Counter({row[0]: row[1] for row in db.execute(query)})


_FEATURES = (FailedResponse.tokens, FailedResponse.path, FailedResponse.model, FailedResponse.phase)


def _candidates(db: orm.Session, here: Scope) -> list[Any]:
    """The newest response of each sort, the newest sort first; `_CANDIDATES` at most."""
    newest = (FailedResponse.at.desc(), FailedResponse.turn_id.desc())
    place = sa.func.row_number().over(partition_by=(*_FEATURES, FailedResponse.tools), order_by=newest).label("place")
    columns = (FailedResponse.turn_id, FailedResponse.at, FailedResponse.tools, *_FEATURES)
    ranked = sa.select(*columns, place).where(*here.where).subquery()
    query = sa.select(ranked).where(ranked.c.place == 1).order_by(ranked.c.at.desc(), ranked.c.turn_id.desc())
    return list(db.execute(query.limit(_CANDIDATES)))


def _examples(db: orm.Session, here: Scope) -> tuple[list[GroupExample], bool]:
    """Those that differ most first: the newest, then always the one that shares least with those before it.

    And whether each of the others is like one of them.
    """
    distinct: dict[tuple[str | None, ...], Any] = {}
    for failure in _candidates(db, here):
        distinct.setdefault(_features(failure), failure)
    others_alike = len(distinct) <= MOST_EXAMPLES
    remaining = list(distinct.items())
    chosen = [remaining.pop(0)] if remaining else []
    while remaining and len(chosen) < MOST_EXAMPLES:
        at = max(
            range(len(remaining)),
            key=lambda at: (_distance(remaining[at][0], [features for features, _ in chosen]), -at),
        )
        chosen.append(remaining.pop(at))
    places = groups.examples(db, [failure.turn_id for _, failure in chosen])
    examples = [
        GroupExample(places[failure.turn_id], moment(failure.at), failure.model, failure.path, failure.tokens)
        for _, failure in chosen
        if failure.turn_id in places
    ]
    return examples, others_alike


def _features(failure: Any) -> tuple[str | None, ...]:
    return (failure.tokens, failure.path, failure.model, failure.phase, failure.tools[0] if failure.tools else None)


def _distance(features: tuple[str | None, ...], chosen: Sequence[tuple[str | None, ...]]) -> int:
    return min(sum(a != b for a, b in zip(features, chosen_features, strict=True)) for chosen_features in chosen)


def _by_version(db: orm.Session, here: Scope) -> list[Rate]:
    if any(getattr(here.filters, name) is not None for name in OF_RESPONSE):
        return []
    by = (FailedResponse.profile, FailedResponse.version)
    counted = db.execute(sa.select(*by, sa.func.count()).where(*here.where).group_by(*by))
    failed = {(profile, version): count for profile, version, count in counted}
    rates: list[Rate] = []
    for profile in sorted({profile for profile, _ in failed if profile}):
        sessions = here.view.ids()
        if here.filters.under == HOME:
            sessions = sessions.where(Session.home_profile == profile)
        run = sa.select(Parse.version, sa.func.count()).where(Parse.profile == profile).group_by(Parse.version)
        run = run.where((Parse.turn_id // TURNS_A_SESSION).in_(sessions)).order_by(Parse.version)
        rates += [rate(f"{profile} {phase}", failed.get((profile, phase), 0), of) for phase, of in db.execute(run)]
    return rates


def _before_and_after(
    db: orm.Session, filters: Filters, key: str, line: GroupLine, now: datetime
) -> tuple[Rate | None, Rate | None]:
    """The rate in the time before and in the time after: see `GroupDetail`."""
    since, until = filters.span()
    if since is not None:
        begin, middle, end = since - ((until or now) - since), since, until or now
    else:
        begin, end = line.first_seen, line.last_seen + timedelta(microseconds=1)  # the end is not in it
        middle = begin + (end - begin) / 2
    if not begin < middle < end:
        return None, None
    return tuple(_within(db, filters, key, *pair) for pair in ((begin, middle), (middle, end)))  # type: ignore[return-value]


def _within(db: orm.Session, filters: Filters, key: str, since: datetime, until: datetime) -> Rate:
    spanned = replace(filters, since=since.isoformat(), until=until.isoformat())
    scope_in_view = scope(db, spanned)
    count = db.scalar(sa.select(sa.func.count()).select_from(FailedResponse).where(*scope_in_view.of(key).where)) or 0
    return rate(f"{since:%Y-%m-%d %H:%M} – {until:%Y-%m-%d %H:%M}", count, coverage(db, scope_in_view).run)


def _readers(db: orm.Session, turn_ids: Sequence[int], under: str) -> list[dict[str, Any]]:
    """What each profile makes of these responses; those that read most first, then those that were not run."""
    run: Counter[str] = Counter()
    read_counts: Counter[str] = Counter()
    query = sa.select(Parse.profile, Parse.verdict, sa.func.count()).where(Parse.turn_id.in_(turn_ids))
    for profile, verdict, count in db.execute(query.group_by(Parse.profile, Parse.verdict)):
        run[profile] += count
        read_counts[profile] += count if verdict in READABLE else 0
    names = sorted({*run, *parsing.profiles()} - {under}, key=lambda name: (-read_counts[name], -run[name], name))
    return [
        {"profile": name, "read": read_counts[name] if run[name] else None, "run": run[name], "of": len(turn_ids)}
        for name in names
    ]

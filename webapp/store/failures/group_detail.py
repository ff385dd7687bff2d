"""One failure group: its examples, who and when, its rates with intervals, and which profiles would have read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from operator import ne
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import failure_group
from webapp.refusals import NotThere
from webapp.store.db.ids import moment
from webapp.store.failures import events, groups
from webapp.store.failures.group import Group
from webapp.store.failures.groups import MOST_VALUES
from webapp.store.failures.scope import OF_RESPONSE, Coverage, Scope, coverage, run_by_model, scope
from webapp.store.models import TURNS_A_SESSION, FailedResponse, FailureEvent, Parse, Session, Turn
from webapp.store.rates import Rate, rate
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
    """One response of a group: where it is shown, as `Example` has it, when it failed, and as what."""

    turn_id: int
    session: str
    external_id: str
    position: int
    when: datetime
    model: str | None
    path: str | None
    tokens: str | None
    phase: str | None
    tool: str | None

    def unlike(self, other: GroupExample) -> int:
        """In how many ways it failed otherwise, 0 to 5."""
        return sum(map(ne, self[5:], other[5:]))


@dataclass(frozen=True, slots=True)
class GroupDetail:
    """A group in view. `group` is None where the filters leave none of it; `asked` is the key that was asked for, and
    `key` the group that it was merged into; `merged` are those that are shown as `key`, also by way of others.

    `models` and `versions` are rates over all responses that the filters leave; `versions` is empty where a filter is
    set by which parses are not counted. `before` and `after` are both halves of the range, or with a `since` the same
    time before it and since then. `others_alike` says that each response which is no example has the tokens, path,
    model, phase and tool of one that is. `readers` are the other profiles: of how many each `read` a value, of those
    that it was `run` on, of the `of` that were looked at.
    """

    asked: str
    key: str
    title: str
    coverage: Coverage
    merged: list[str]
    history: list[FailureEvent]
    group: Group | None = None
    examples: list[GroupExample] = field(default_factory=list)
    others_alike: bool = True
    models: list[Rate] = field(default_factory=list)
    versions: list[Rate] = field(default_factory=list)
    before: Rate | None = None
    after: Rate | None = None
    tokens: list[tuple[str, int]] = field(default_factory=list)
    readers: list[dict[str, Any]] = field(default_factory=list)


def history(db: orm.Session, key: str, every: Scope | None = None) -> list[FailureEvent]:
    """What was said of the group with that key, the oldest first. Raises `NoSuchGroup`."""
    everything = (every or scope(db, Filters())).everything()
    shown = everything.merged.get(key, key)
    said = events.history(db, shown)
    if not said and not groups.turns_in(db, everything.of(shown), 1):
        raise NoSuchGroup(f"no failure group has the key {key[:200]!r}")
    return said


def find(db: orm.Session, key: str, filters: Filters, *, now: datetime | None = None) -> GroupDetail:
    """The group with that key under the filters. Raises `NoSuchGroup` and `BadFilter`."""
    every, now = scope(db, filters), now or datetime.now(UTC)
    shown, said = every.merged.get(key, key), history(db, key, every)
    here = every.of(shown)
    found = groups.read(db, here, now, _axis(db, every))
    group = found.groups[0] if found.groups else None
    merged = [other for other in every.keys(shown) if other != shown]
    empty = GroupDetail(key, shown, failure_group.title(shown), found.coverage, merged, said)
    if group is None:
        return empty
    examples, others_alike = _examples(db, here)
    before, after = _before_and_after(db, filters, shown, group, now)
    run = run_by_model(db, every)
    tokens = sa.select(FailedResponse.tokens, sa.func.count()).where(*here.where, FailedResponse.tokens.is_not(None))
    counts = {text: count for text, count in db.execute(tokens.group_by(FailedResponse.tokens)) if text is not None}
    return replace(
        empty,
        group=group,
        examples=examples,
        others_alike=others_alike,
        models=[rate(model or "", count, None if model is None else run.get(model)) for model, count in group.models],
        versions=_by_version(db, here),
        before=before,
        after=after,
        tokens=top(counts, None, MOST_VALUES)[0],
        readers=_readers(db, groups.turns_in(db, here, LOOKED_AT), filters.under),
    )


def _axis(db: orm.Session, every: Scope) -> tuple[datetime, datetime] | None:
    """What the series of all groups go over, which have the same."""
    bounds = sa.select(sa.func.min(FailedResponse.at), sa.func.max(FailedResponse.at)).where(*every.where)
    first, last = db.execute(bounds).one()
    return None if first is None else (moment(first if every.since is None else every.since), moment(last + 1))


def _candidates(db: orm.Session, here: Scope) -> list[GroupExample]:
    """The newest response of each sort, the newest sort first; `_CANDIDATES` at most."""
    features = (FailedResponse.model, FailedResponse.path, FailedResponse.tokens, FailedResponse.phase)
    newest = (FailedResponse.at.desc(), FailedResponse.turn_id.desc())
    place = sa.func.row_number().over(partition_by=(*features, FailedResponse.tools), order_by=newest).label("place")
    columns = (FailedResponse.turn_id, FailedResponse.at, *features, FailedResponse.tools)
    ranked = sa.select(*columns, place).where(*here.where).subquery()
    query = sa.select(ranked, Session.key, Session.external_id, Turn.position).where(ranked.c.place == 1)
    query = query.join(Turn, Turn.id == ranked.c.turn_id).join(Session, Session.id == Turn.session_id)
    query = query.order_by(ranked.c.at.desc(), ranked.c.turn_id.desc()).limit(_CANDIDATES)
    return [
        GroupExample(number, key, ident, place, moment(at), model, path, tokens, phase, tools[0] if tools else None)
        for number, at, model, path, tokens, phase, tools, _, key, ident, place in db.execute(query)
    ]


def _examples(db: orm.Session, here: Scope) -> tuple[list[GroupExample], bool]:
    """The newest, then always the one most unlike those before it; and whether each other one is like one of them."""
    candidates = _candidates(db, here)
    chosen = candidates[:1]

    def apart(candidate: GroupExample) -> int:
        return min(candidate.unlike(example) for example in chosen)

    while chosen and len(chosen) < MOST_EXAMPLES and apart(farthest := max(candidates, key=apart)):
        chosen.append(farthest)
    return chosen, not any(map(apart, candidates))


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
    db: orm.Session, filters: Filters, key: str, group: Group, now: datetime
) -> tuple[Rate | None, Rate | None]:
    """The rate in the time before and in the time after: see `GroupDetail`."""
    since, until = filters.span()
    if since is not None:
        begin, middle, end = since - ((until or now) - since), since, until or now
    else:
        begin, end = group.first_seen, group.last_seen + timedelta(microseconds=1)  # the end is not in it
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
    is_read = sa.func.count(sa.case((Parse.verdict.in_(READABLE), 1)))
    query = sa.select(Parse.profile, sa.func.count(), is_read).where(Parse.turn_id.in_(turn_ids))
    found = {profile: (run, read) for profile, run, read in db.execute(query.group_by(Parse.profile))}
    counts = ((name, *found.get(name, (0, None))) for name in {*found, *parsing.profiles()} - {under})
    return [
        {"profile": name, "read": read, "run": run, "of": len(turn_ids)}
        for name, run, read in sorted(counts, key=lambda count: (-(count[2] or 0), -count[1], count[0]))
    ]

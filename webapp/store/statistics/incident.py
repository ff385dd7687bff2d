"""The failure rate over time, a series a model, service, host or version, and the change that is no chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate, islice, pairwise
from math import erfc, log, sqrt
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.dialect import unindexed
from webapp.store.db.ids import moment
from webapp.store.models import FacetValue, FailedResponse, Session, SessionFacet
from webapp.store.rates import Rate, share
from webapp.store.sessions import sessions
from webapp.store.sessions.facets import of_sessions
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.statistics import timesteps
from webapp.store.write.parser import OURS
from webapp.store.write.tally import NOT_RUN, VERDICTS

MOST_SESSIONS = 10_000
"""the newest that are looked at"""
MOST_SERIES = 6
DIVIDED = ("model", "service", "host", "version")
"""what a series may be of"""
NEWS = ("model", "service", "version")
"""what is told when it is new"""
MOST_NEWS = 6
LEVEL = 0.05
"""how often a page may speak of a change where there is none"""
Ids = sa.Select[tuple[int]]
_LEAST = 5
"""sessions on either side of a change: fewer say nothing"""
_FEW = 20
"""sessions of which one alone may be too old to be drawn"""


class Point(NamedTuple):
    """The responses of one model in one session: when it began, how many there are, how many failed, and the first
    that did. One without a time of its own stands where it came in, which says nothing of a change."""

    at: datetime
    responses: int
    failed: int
    first_failed: datetime | None
    has_time: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """Since `since` a model's responses fail at another rate than before; of a new model, than the others before."""

    model: str
    since: datetime
    before: Rate
    after: Rate
    is_new: bool
    chance: float
    """how often chance alone makes such a change, all that was looked at considered"""


@dataclass(frozen=True, slots=True)
class Series:
    """One line of the chart: (responses, failed) by step, a pair for each of `Incident.steps`."""

    model: str
    points: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Incident:
    """What failed when. `steps` are begin and end of each step of time, `step` what it is; `cut` says that older
    sessions are not in it, `timeless` how many sessions have no time of their own; a series is a `by`. `news` are the
    models, services and versions that came later than chance would have it, with when they came; what is
    `older_than` that is so little and so old that it would stretch the axis, and is not drawn."""

    step: str
    steps: list[tuple[datetime, datetime]]
    series: list[Series]
    change: Change | None
    cut: bool
    timeless: int = 0
    by: str = "model"
    news: Sequence[tuple[datetime, str]] = ()
    older_than: datetime | None = None


def incident(db: orm.Session, filters: Filters, by: str = "model") -> Incident:
    """Of the newest sessions in view, a series a `by`, of `DIVIDED`."""
    samples, looked_at, timeless, here = _samples(db, filters, by)
    times = sorted(sample.at for of_model in samples.values() for sample in of_model)
    if not times:
        return Incident("day", [], [], None, False, 0, by)
    older = _strays(times)
    step, edges = timesteps.edges(times[older], times[-1])
    largest = sorted(samples, key=lambda model: (-sum(sample.responses for sample in samples[model]), model))
    series = [_series(model, samples[model], edges) for model in largest[:MOST_SERIES]]
    if rest := [sample for model in largest[MOST_SERIES:] for sample in samples[model]]:
        series.append(_series(f"{len(largest) - MOST_SERIES} others", rest, edges))
    timed = {model: [sample for sample in of_model if sample.has_time] for model, of_model in samples.items()}
    flag = change({model: of_model for model, of_model in timed.items() if of_model})
    news, cut = _news(db, by, here, looked_at, times[older], times[-1]), looked_at == MOST_SESSIONS
    return Incident(step, list(pairwise(edges)), series, flag, cut, timeless, by, news, times[older] if older else None)


def _strays(times: Sequence[datetime]) -> int:
    """How many of the oldest are not drawn: those few without which the time is a tenth as long."""
    end = times[-1]
    most = max(1, len(times) // 50) if len(times) >= _FEW else 0
    return next((at for at in range(1, most + 1) if (end - times[at]) * 10 < end - times[0]), 0)


def change(samples: dict[str, list[Point]]) -> Change | None:
    """The change that makes most failures more, or fewer, of those that chance makes less often than `LEVEL`."""
    changes = [flag for model, of_model in samples.items() if (flag := _within(model, of_model)) is not None]
    changes += [flag for model in samples if (flag := _of_new(model, samples)) is not None]
    sure = (replace(flag, chance=flag.chance * len(changes)) for flag in changes if flag.chance * len(changes) <= LEVEL)
    return max(sure, key=lambda flag: abs(_more(flag.before, flag.after)) * (flag.after.of or 0), default=None)


def _within(model: str, samples: Sequence[Point]) -> Change | None:
    """The likeliest change within a model's sessions; its chance counts every place where it could have been."""
    ordered = sorted(samples, key=lambda sample: sample.at)
    responses = list(accumulate((sample.responses for sample in ordered), initial=0))
    failed = list(accumulate((sample.failed for sample in ordered), initial=0))
    places = [at for at in range(_LEAST, len(ordered) - _LEAST + 1) if ordered[at].at != ordered[at - 1].at]
    if not places:
        return None
    of, count = responses[-1], failed[-1]
    whole = _likelihood(of, count)

    def gain(at: int) -> float:
        return _likelihood(responses[at], failed[at]) + _likelihood(of - responses[at], count - failed[at]) - whole

    at = max(places, key=gain)
    return _change(model, ordered[:at], ordered[at:], gain(at), len(places), is_new=False)


def _of_new(model: str, samples: dict[str, list[Point]]) -> Change | None:
    """A model that was not there in the beginning, against what the others did before it came."""
    own = sorted(samples[model], key=lambda sample: sample.at)
    others = [s for name, of_model in samples.items() if name != model for s in of_model if s.at < own[0].at]
    if len(own) < _LEAST or len(others) < _LEAST:
        return None
    (n1, f1), (n2, f2) = _total(others), _total(own)
    gain = _likelihood(n1, f1) + _likelihood(n2, f2) - _likelihood(n1 + n2, f1 + f2)
    return _change(model, others, own, gain, 1, is_new=True)


def _change(
    model: str, before: Sequence[Point], after: Sequence[Point], gain: float, places: int, *, is_new: bool
) -> Change:
    """Responses of a session fail together: what is known is as much less as they do."""
    together = _together(before, after)
    free = len(before) + len(after) - 2
    chance = min(1.0, places * _tail(max(0.0, 2 * gain / together), free))
    since = next((sample.first_failed for sample in after if sample.first_failed is not None), after[0].at)
    was, now = (share((sample.failed, sample.responses) for sample in part) for part in (before, after))
    return Change(model, since if _more(was, now) > 0 else after[0].at, was, now, is_new, chance)


def _more(was: Rate, now: Rate) -> float:
    return (now.share or 0) - (was.share or 0)


def _together(*parts: Sequence[Point]) -> float:
    """How many times the variance between sessions is that of independent responses; 1 at least."""
    squares = expected = 0.0
    for part in parts:
        of, count = _total(part)
        share = count / of
        squares += sum((sample.failed - share * sample.responses) ** 2 for sample in part)
        expected += of * share * (1 - share)
    free = sum(map(len, parts)) - len(parts)
    return max(1.0, squares / expected * (free + len(parts)) / free) if expected and free > 0 else 1.0


def _tail(square: float, free: int) -> float:
    """How often Student's t with `free` degrees of freedom is so far from 0 (Wallace's approximation, 1959)."""
    normal = sqrt(free * log(1 + square / free)) * (8 * free + 1) / (8 * free + 3)
    return erfc(normal / sqrt(2))


def _likelihood(of: int, count: int) -> float:
    """The logarithm of how likely `count` of `of` are at their own rate."""
    rest = of - count
    return (count * log(count / of) if count else 0.0) + (rest * log(rest / of) if rest else 0.0)


def _total(samples: Sequence[Point]) -> tuple[int, int]:
    return sum(sample.responses for sample in samples), sum(sample.failed for sample in samples)


def _series(model: str, samples: Sequence[Point], edges: Sequence[datetime]) -> Series:
    points, step = [[0, 0] for _ in edges[1:]], edges[1] - edges[0]
    for sample in samples:
        if sample.at >= edges[0]:
            point = points[(sample.at - edges[0]) // step]
            point[0] += sample.responses
            point[1] += sample.failed
    return Series(model, [(of, count) for of, count in points])


def _news(db: orm.Session, by: str, here: Ids, of: int, start: datetime, end: datetime) -> list[tuple[datetime, str]]:
    """Models, services, versions, and values of `by`, the latest: those whose sessions, of which there are `of`, would
    seldom all be so late, were they spread over all the time. Of few sessions nothing is news."""
    first = sa.func.min(Session.started_at)
    query = sa.select(FacetValue.name, FacetValue.value, first, sa.func.count()).select_from(SessionFacet)
    query = query.join(FacetValue, FacetValue.id == SessionFacet.value_id).where(FacetValue.name.in_({*NEWS, by}))
    query = query.join(Session, Session.id == SessionFacet.session_id).where(Session.started_at <= end)
    query = query.where(unindexed(SessionFacet.session_id).in_(here)).group_by(FacetValue.name, FacetValue.value)
    begun = db.execute(query.having(first > start).order_by(first.desc()))
    late = (
        (when, f"new {name} {value}")
        for name, value, when, times in begun
        if when is not None and ((end - when) / (end - start) + 1 / of) ** times <= LEVEL
    )
    return list(islice(late, MOST_NEWS))


def _samples(db: orm.Session, filters: Filters, by: str) -> tuple[dict[str, list[Point]], int, int, Ids]:
    """By model, service, host or version, "" where none is named, without responses that are not run; how
    many sessions were looked at, and how many of them have no time; the ids of the sessions."""
    view = sessions.view(db, filters)
    newest = sa.select(Session.id, Session.happened_at, Session.started_at.is_not(None), Session.response_count)
    newest = newest.order_by(Session.happened_at.desc(), Session.id.desc()).where(*view.where()).limit(MOST_SESSIONS)
    rows = db.connection().execute(newest).all()
    ids = newest.with_only_columns(Session.id).subquery()
    here = sa.select(ids.c.id)
    failed, names = _failed(db, filters, here, by), {} if by == "model" else _names(db, by, here)
    of_models = _of_models(db, filters, here) if by == "model" or filters.model is not None else {}
    not_run = {number: count for number, _, count in of_sessions(db, here, f"verdict {HOME}", value=NOT_RUN)}
    samples: dict[str, list[Point]] = defaultdict(list)
    timeless = 0
    for session_id, happened_at, has_time, of in rows:
        response_count = of - not_run.get(session_id, 0)
        timeless += not has_time and response_count > 0
        counts = of_models.get(session_id, {})
        if by != "model":
            count = response_count if filters.model is None else sum(counts.values())
            counts = {names.get(session_id, ""): count}
        elif filters.model is None:
            unnamed = max(response_count - sum(counts.values()), failed.get((session_id, ""), (0, None))[0])
            counts = {**counts, "": unnamed}
        for name, count in counts.items():
            failures, first = failed.get((session_id, name if by == "model" else ""), (0, None))
            began = None if first is None else moment(first)
            if count:
                samples[name].append(Point(happened_at, count, min(failures, count), began, bool(has_time)))
    return samples, len(rows), timeless, here


def _of_models(db: orm.Session, filters: Filters, here: Ids) -> dict[int, dict[str, int]]:
    """How many responses, but for those not run, each session has of each model, or of the one that is asked for."""
    responses: dict[int, dict[str, int]] = defaultdict(dict)
    ours = [f"model {OURS} {verdict}" for verdict in VERDICTS]
    for session_id, model, count in of_sessions(db, here, *ours, value=filters.model):
        responses[session_id][model] = count
    for session_id, model, count in of_sessions(db, here, f"model {HOME} {NOT_RUN}", value=filters.model):
        responses[session_id][model] -= count
    return responses


def _names(db: orm.Session, by: str, here: Ids) -> dict[int, str]:
    """The service, host or version of each session, the one that it has most of."""
    most: dict[int, tuple[int, str]] = {}
    for session_id, name, count in of_sessions(db, here, by):
        most[session_id] = max(most.get(session_id, (0, "")), (count, name))
    return {session_id: name for session_id, (_, name) in most.items()}


def _failed(db: orm.Session, filters: Filters, here: Ids, by: str) -> dict[tuple[int, str], tuple[int, int | None]]:
    """Failures and the first of them by session and model, by session and "" where a series is none of a model."""
    model = sa.func.coalesce(FailedResponse.model, "") if by == "model" else sa.literal("")
    query = sa.select(FailedResponse.session_id, model, sa.func.count(), sa.func.min(FailedResponse.at))
    query = query.where(FailedResponse.under == filters.under, FailedResponse.session_id.in_(here))
    if filters.model is not None:
        query = query.where(FailedResponse.model == filters.model)
    grouped = query.group_by(FailedResponse.session_id, *([FailedResponse.model] if by == "model" else []))
    return {(row[0], row[1]): (row[2], row[3]) for row in db.connection().execute(grouped)}

"""Statistics under the list's filters: what won, what was needed, what went wrong, by model, profile and time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.store.models import FacetValue, Session
from webapp.store.sessions import coverage, facets, sessions
from webapp.store.sessions.facets import top
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.sessions.view import View
from webapp.store.sessions.where import failed_count, listed, rescued_count
from webapp.store.statistics import model_card, timesteps
from webapp.store.statistics.figures import Bucket, Entry, OfModel, ProfileFigures, Statistics, Timing
from webapp.store.write.home import UNKNOWN
from webapp.store.write.parser import OURS
from webapp.store.write.tally import VERDICTS

_OF_PROFILE = ("verdict", "strategy", "repair", "tried", "took", "parses")
_COUNTS = ("clean_count", "extracted_count", "repaired_count", "unparsed_count", "none_count")
"""in the order of `VERDICTS`"""
_is_known = Session.home_profile != UNKNOWN
_read_as_json = {
    "clean": Session.clean_count,
    "failed": Session.extracted_count + Session.repaired_count + Session.unparsed_count,
    "none": Session.none_count,
}
"""what `json.loads` makes of responses whose parser is unknown: by what `fencepost` makes of them"""
Pair = tuple[int, int]
"""of sessions, and of responses all together"""
Values = Mapping[str, Pair]


def statistics(db: orm.Session, filters: Filters) -> Statistics:
    """Everything under `filters`. Where a text is searched for that very many sessions have, of the newest of them."""
    return _Counted(db, sessions.view(db, filters)).statistics()


class _Counted:
    """What is added up over one view."""

    def __init__(self, db: orm.Session, view: View) -> None:
        self.db = db
        self.view = view
        self.filters = view.filters
        self.sums: dict[str, dict[str, Pair]] = defaultdict(dict)
        """by name of `session_facets` and value"""
        for name, value, count, total in facets.sums(db, view, self._names(), few=self._is_small()):
            self.sums[name][value] = count, total

    def _names(self) -> list[str]:
        """All names that are counted, but those under home, which are those of its profile."""
        every = self.db.scalars(sa.select(FacetValue.name).distinct())
        return [name for name in every if name.partition(" ")[2] != HOME and name != model_card.HELD]

    def _is_small(self) -> bool:
        every = sa.select(sa.func.count()).select_from(Session).where(listed)
        return self.view.is_narrowed() and 4 * self.total.sessions < (self.db.scalar(every) or 0)

    @cached_property
    def total(self) -> Any:
        query = sa.select(
            *_sums(_TOTALS),
            sa.func.min(Session.happened_at).label("first"),
            sa.func.max(Session.happened_at).label("last"),
        )
        return self.db.execute(query.where(*self.view.where())).one()

    def statistics(self) -> Statistics:
        total = self.total
        every = self.db.scalar(sa.select(sa.func.count()).select_from(Session).where(listed)) or 0
        parses = {name: sum(count for _, count in self.sums[f"verdict {name}"].values()) for name in self.profiles()}
        return Statistics(
            total.sessions,
            every - total.sessions,
            total.turns,
            total.responses,
            total.failed,
            total.rescued,
            [of_profile for name in self.profiles() if (of_profile := self.profile(name)).responses],
            *self.models(),
            *self.errors(),
            *self.over_time(),
            [coverage.of_counts(name, parses) for name in parsing.profiles()],
            total.unknown,
            *model_card.card(self.db, self.view),
        )

    def profiles(self) -> list[str]:
        """The home profiles, of most sessions first, then the others."""
        names = (name.partition(" ")[2] for name in list(self.sums) if name.startswith("verdict "))
        homes = self.sums["home"]
        return sorted(names, key=lambda name: (-homes.get(name, (0, 0))[0], name))

    def profile(self, name: str) -> ProfileFigures:
        verdict, won, repair, tried, took, parses = (self.sums[f"{part} {name}"] for part in _OF_PROFILE)
        verdicts = self.verdicts(verdict, {"under": name})
        responses = sum(entry.count for entry in verdicts)
        timings = [self.timing(name, strategy, took[strategy][1], parses) for strategy in won]
        timings.sort(key=lambda timing: (-timing.parses, timing.strategy))
        return ProfileFigures(
            name,
            self.sums["home"].get(name, (0, 0))[0],
            responses,
            verdicts,
            self.entries("strategy", {value: pair for value, pair in won.items() if value}, responses, name),
            {strategy: count for strategy, (_, count) in tried.items()},
            self.entries("repair", repair, responses, name),
            timings,
        )

    def entries(self, facet: str, values: Values, of: int, profile: str) -> list[Entry]:
        """The most frequent first."""
        entries = [
            Entry(value, count, of, some, replace(self.filters, **{"under": profile, facet: value}))  # type: ignore[arg-type]
            for value, (some, count) in values.items()
        ]
        return sorted(entries, key=lambda entry: (-entry.count, entry.value))

    def verdicts(self, values: Values, also: Mapping[str, Any]) -> list[Entry]:
        """All verdicts in their order, zeros included."""
        pairs = [(verdict, *values.get(verdict, (0, 0))) for verdict in VERDICTS]
        of = sum(count for _, _, count in pairs)
        return [
            Entry(verdict, count, of, some, replace(self.filters, verdict=verdict, **also))
            for verdict, some, count in pairs
        ]

    def timing(self, profile: str, strategy: str, took: int, parses: Values) -> Timing:
        counts = {
            int(value.partition(" ")[0]): count
            for value, (_, count) in parses.items()
            if value.partition(" ")[2] == strategy
        }
        every = sum(counts.values())
        filters = replace(self.filters, under=profile, strategy=strategy or None)
        median, p95 = (_quantile(counts, every * share) for share in (0.5, 0.95))
        return Timing(strategy, every, took / every, median, p95, filters)

    def models(self) -> tuple[list[OfModel], int]:
        values, more = top({value: count for value, (count, _) in self.sums["model"].items()}, self.filters.model)
        models = [self.model(value, count) for value, count in values]
        return sorted(models, key=lambda model: (-model.responses, model.model)), more

    def model(self, value: str, count: int) -> OfModel:
        home, fencepost = (
            self.verdicts(
                {name: self.sums[f"model {whose} {name}"].get(value, (0, 0)) for name in VERDICTS},
                {"model": value, "under": whose},
            )
            for whose in (HOME, OURS)
        )
        return OfModel(value, count, home[0].of, home, fencepost, replace(self.filters, model=value))

    def errors(self) -> tuple[list[Entry], int]:
        errors = self.sums["error"]
        values, more = top({value: count for value, (_, count) in errors.items()}, None)
        return [
            Entry(value, count, self.total.failed, errors[value][0], replace(self.filters, error=value))
            for value, count in values
        ], more

    def over_time(self) -> tuple[str, list[Bucket]]:
        """Everything in view falls into a bucket: they go from the first session's to the last's."""
        if not self.total.sessions:
            return "day", []
        step, edges = timesteps.edges(self.total.first, self.total.last)
        number = sa.case(*((Session.happened_at < edge, at) for at, edge in enumerate(edges[1:])), else_=len(edges))
        query = sa.select(number.label("bucket"), *_sums(_TOTALS | _VERDICTS)).where(*self.view.where())
        rows = {row.bucket: row for row in self.db.execute(query.group_by(number))}
        return step, [self.bucket(*span, rows.get(at)) for at, span in enumerate(pairwise(edges))]

    def bucket(self, start: datetime, end: datetime, row: Any) -> Bucket:
        after, before = self.filters.span()
        since, until = (timesteps.text(when) for when in (max(start, after or start), min(end, before or end)))
        filters = replace(self.filters, since=since, until=until)
        if row is None:
            return Bucket(start, end, 0, 0, 0, 0, [], filters)
        values = {name: (getattr(row, f"sessions_{name}"), getattr(row, f"count_{name}")) for name in VERDICTS}
        verdicts = self.verdicts(values, {"since": since, "until": until, "under": HOME})
        return Bucket(start, end, row.sessions, row.responses, row.failed, row.rescued, verdicts, filters, row.unknown)


_TOTALS: dict[str, Any] = {
    "turns": Session.turn_count,
    "responses": Session.response_count,
    "failed": failed_count,
    "rescued": rescued_count,
    "unknown": sa.case((_is_known, 0), else_=Session.response_count),
}
_VERDICTS: dict[str, sa.ColumnElement[Any]] = {
    f"{kind}_{verdict}": sa.case((column > 0, value), else_=0)
    for verdict, column in (
        (name, sa.case((_is_known, getattr(Session, count)), else_=_read_as_json.get(name, 0)))
        for name, count in zip(VERDICTS, _COUNTS, strict=True)
    )
    for kind, value in (("count", column), ("sessions", 1))
}


def _sums(columns: Mapping[str, Any]) -> Iterable[Any]:
    """How many sessions, and these columns added up."""
    yield sa.func.count().label("sessions")
    for name, column in columns.items():
        yield sa.cast(sa.func.coalesce(sa.func.sum(column), 0), sa.BigInteger).label(name)


def _quantile(counts: dict[int, int], rank: float) -> int:
    """The upper bound of the power of two below which at least `rank` of the parses took."""
    passed = 0
    for exponent in sorted(counts):
        passed += counts[exponent]
        if passed >= rank:
            return int(1 << exponent)
    return 0

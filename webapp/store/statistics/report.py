"""Statistics under the list's filters: what won, what was needed, what went wrong, by model, profile and time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from sqlalchemy import orm

from webapp import parsing
from webapp.store.index.bit_sliced_index import NO_COLUMN, Bits, Column, SlotCounts
from webapp.store.index.session_reader import microseconds, moment
from webapp.store.index.state import VERDICT_NUMBERS, Columns, State
from webapp.store.sessions import coverage, sessions
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.sessions.narrowing import top
from webapp.store.statistics import timesteps
from webapp.store.statistics.figures import Bucket, Entry, OfModel, ProfileFigures, Statistics, Timing
from webapp.store.write.home import UNKNOWN
from webapp.store.write.parser import OURS
from webapp.store.write.tally import VERDICTS


def statistics(db: orm.Session, filters: Filters) -> Statistics:
    """Everything under `filters`. Where a text is searched for that very many sessions have, of the newest of them."""
    narrowed = sessions.narrowed(db, filters)
    state, bits = narrowed.state, narrowed.view
    return state.keeping(("statistics", filters, bits), lambda: _Counted(state, filters, bits).statistics())


class _Counted:
    """One state under filters; `bits` are the sessions in view."""

    def __init__(self, state: State, filters: Filters, bits: Bits) -> None:
        self.state = state
        self.filters = filters
        self.view = bits
        self.homes = {name: column.members & bits for name, column in state.columns("home").items()}
        numbers = [state.numbers[name] for name in VERDICT_NUMBERS]
        columns = [Column(SlotCounts(number.positive, number.planes)) for number in numbers]
        self.home_verdicts = dict(enumerate(columns))

    def statistics(self) -> Statistics:
        state, view = self.state, self.view
        return Statistics(
            len(view),
            len(state.alive) - len(view),
            state.numbers["turns"].total(view),
            *self.counts(view),
            [of_profile for name in self.profiles() if (of_profile := self.profile(name)).responses],
            *self.models(),
            *self.errors(),
            *self.over_time(),
            [coverage.of_view(state, view, name) for name in parsing.profiles()],
            self.unknown(view),
        )

    def profiles(self) -> list[str]:
        """The home profiles, of most sessions first, then the others."""
        homes = {name: len(view) for name, view in self.homes.items()}
        return sorted(self.state.profiles(), key=lambda name: (-homes.get(name, 0), name))

    def profile(self, name: str) -> ProfileFigures:
        columns = self.state.columns
        verdicts = self.verdicts(columns("verdict", name), self.view, {"under": name})
        responses = sum(entry.count for entry in verdicts)
        won = [self.entry("strategy", *item, responses, name) for item in columns("won", name).items() if item[0]]
        repairs = [self.entry("repair", *item, responses, name) for item in columns("repair", name).items()]
        tried = {value: column.total(self.view) for value, column in columns("tried", name).items()}
        home = len(self.homes[name]) if name in self.homes else 0
        timings = [timing for value in columns("won", name) if (timing := self.timing(name, value)) is not None]
        timings.sort(key=lambda timing: (-timing.parses, timing.strategy))
        return ProfileFigures(name, home, responses, verdicts, _most(won), tried, _most(repairs), timings)

    def entry(self, facet: str, value: str, column: Column, of: int, profile: str) -> Entry:
        parameters: dict[str, Any] = {"under": profile, facet: value}
        filters = replace(self.filters, **parameters)
        return Entry(value, column.total(self.view), of, column.sessions(self.view), filters)

    def verdicts(self, columns: Columns, view: Bits, also: dict[str, Any]) -> list[Entry]:
        """The columns of the verdicts, by their index, as entries."""
        verdict_columns = [columns.get(index, NO_COLUMN) for index in range(len(VERDICTS))]
        counts = [column.total(view) for column in verdict_columns]
        return [
            Entry(value, count, sum(counts), column.sessions(view), replace(self.filters, verdict=value, **also))
            for value, count, column in zip(VERDICTS, counts, verdict_columns, strict=True)
        ]

    def timing(self, profile: str, strategy: str) -> Timing | None:
        """None where nothing in view was won by it."""
        counts = {
            exponent: count
            for (value, exponent), column in self.state.columns("parses", profile).items()
            if value == strategy and (count := column.total(self.view))
        }
        parses = sum(counts.values())
        if not parses:
            return None
        took = self.state.columns("took", profile)[strategy].total(self.view)
        filters = replace(self.filters, under=profile, strategy=strategy or None)
        median, p95 = (_quantile(counts, parses * share) for share in (0.5, 0.95))
        return Timing(strategy, parses, took / parses, median, p95, filters)

    def models(self) -> tuple[list[OfModel], int]:
        columns = self.state.columns("model")
        rows = {value: count for value in columns if (count := columns[value].sessions(self.view))}
        values, more = top(rows, self.filters.model)
        models = [self.model(value, count) for value, count in values]
        return sorted(models, key=lambda model: (-model.responses, model.model)), more

    def model(self, value: str, count: int) -> OfModel:
        columns, half = self.state.columns("made", value), len(VERDICTS)
        ours = {index - half: column for index, column in columns.items() if index >= half}
        home = self.verdicts(columns, self.view, {"model": value, "under": HOME})
        fencepost = self.verdicts(ours, self.view, {"model": value, "under": OURS})
        return OfModel(value, count, home[0].of, home, fencepost, replace(self.filters, model=value))

    def errors(self) -> tuple[list[Entry], int]:
        columns, failed = self.state.columns("error"), self.state.numbers["failed"].total(self.view)
        values, more = top({value: count for value in columns if (count := columns[value].total(self.view))}, None)
        return [
            Entry(value, count, failed, columns[value].sessions(self.view), replace(self.filters, error=value))
            for value, count in values
        ], more

    def over_time(self) -> tuple[str, list[Bucket]]:
        """Everything in view falls into a bucket: they go from the first session's to the last's."""
        when, bits = self.state.numbers["when"], self.view
        if not bits:
            return "day", []
        step, edges = timesteps.edges(moment(when.least(bits)), moment(when.greatest(bits)))
        below = [when.below(microseconds(edge), bits) for edge in edges]
        return step, [
            self.bucket(start, end, until - since)
            for (start, end), (since, until) in zip(pairwise(edges), pairwise(below), strict=True)
        ]

    def bucket(self, start: datetime, end: datetime, view: Bits) -> Bucket:
        after, before = self.filters.span()
        since, until = (timesteps.text(when) for when in (max(start, after or start), min(end, before or end)))
        span: dict[str, Any] = {"since": since, "until": until}
        filters = replace(self.filters, **span)
        if not view:
            return Bucket(start, end, 0, 0, 0, 0, [], filters)
        verdicts = self.verdicts(self.home_verdicts, self.known(view), {**span, "under": HOME})
        return Bucket(start, end, len(view), *self.counts(view), verdicts, filters, self.unknown(view))

    def counts(self, view: Bits) -> tuple[int, int, int]:
        """Responses, and of those the failed and the rescued ones."""
        numbers = self.state.numbers
        return numbers["responses"].total(view), numbers["failed"].total(view), numbers["rescued"].total(view)

    def unknown(self, view: Bits) -> int:
        """How many responses are of programs whose parser nobody has named."""
        if UNKNOWN not in self.homes:
            return 0
        return self.state.numbers["responses"].total(view & self.homes[UNKNOWN])

    def known(self, view: Bits) -> Bits:
        """Those of the sessions whose parser is known: of the others no verdict says what happened."""
        return view - self.homes[UNKNOWN] if UNKNOWN in self.homes else view


def _most(entries: list[Entry]) -> list[Entry]:
    """Those that are in view, the most frequent first."""
    return sorted((entry for entry in entries if entry.count), key=lambda entry: (-entry.count, entry.value))


def _quantile(counts: dict[int, int], rank: float) -> int:
    """The upper bound of the power of two below which at least `rank` of the parses took."""
    passed = 0
    for exponent in sorted(counts):
        passed += counts[exponent]
        if passed >= rank:
            return int(1 << exponent)
    return 0

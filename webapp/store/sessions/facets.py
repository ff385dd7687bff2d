"""Counts what is in view, and the values of each facet there: behind the rows, and never for longer than a limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import why_absent
from webapp.store.db.dialect import TookTooLong, unindexed, within
from webapp.store.models import TURNS_A_SESSION, FacetValue, Label, Session, SessionFacet
from webapp.store.sessions import where
from webapp.store.sessions.filters import HOME, LABELS, Filters
from webapp.store.sessions.where import FACETS, OF_PARSE, View, has_rescued, listed, stored_name
from webapp.store.write.parser import OURS

LIMIT = 0.3
"""seconds that counting may take; what is not counted by then is said to be cut"""
MOST_VALUES = 50
_TOTALLED = ("failed", "rescued", "label")
"""filters beside whose values the counts show what the others would"""
_FEW = 10
"""where one session in so many is in view, or fewer, their rows are read; else those of each value"""

_T = TypeVar("_T")
Of = tuple[int, str, int]


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of one facet among the sessions that all other filters leave in view.

    `name` is the filter's, and a value the filter's value. At most 50 values, most sessions first; `more` counts the
    others. `chosen` is the value that the filters ask for, None where they ask for none; it is always among `values`.
    """

    name: str
    values: list[tuple[str, int]]
    more: int
    chosen: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many sessions each of these filters would show, all other filters left in place.

    `all` is without `failed` and `rescued`; `total` are in view, of `of` in the store.
    """

    all: int
    failed: int
    rescued: int
    labelled: int
    unlabelled: int
    total: int
    of: int


def counted(db: orm.Session, view: View) -> tuple[Counts | None, dict[str, Facet], tuple[str, ...]]:
    """Counts of a view and its facets, as far as they are counted within `LIMIT`, and the names of the other facets."""
    numbers, by_name, cut = None, dict[str, Mapping[str, int]](), tuple[str, ...]()
    try:
        with within(db.connection(), LIMIT):
            numbers = counts(db, view)
            for names, values in _by_name(db, view, numbers):
                by_name |= {name: values.get(name, {}) for name in names}
    except TookTooLong:
        cut = tuple(name for name in FACETS if name not in by_name)
    facets = dict[str, Facet]()
    for name in FACETS:
        chosen = getattr(view.filters, name)
        most, more = top(by_name.get(name, {}), chosen)
        if most and name in by_name:
            facets[name] = Facet(name, most, more, chosen)
    return numbers, facets, cut


def counts(db: orm.Session, view: View) -> Counts:
    """One look at the sessions that the other filters leave."""
    failed, rescued, label = (sa.and_(sa.true(), *view.only(name)) for name in _TOTALLED)
    is_rescued = sa.and_(failed, rescued)
    columns = (
        label,
        sa.and_(label, Session.failed),
        sa.and_(label, has_rescued),
        sa.and_(is_rescued, Session.label_count > 0),
        sa.and_(is_rescued, Session.label_count == 0),
        sa.and_(is_rescued, label),
    )
    query = sa.select(*(sa.func.count(sa.case((column, 1))) for column in columns))
    row = db.execute(query.where(*view.where(*_TOTALLED))).one()
    numbers: list[int] = [*row, db.scalar(_every) or 0]
    return Counts(*numbers)


_every = sa.select(sa.func.count()).select_from(Session).where(listed)


def top(counts: Mapping[_T, int], chosen: _T | None, most: int = MOST_VALUES) -> tuple[list[tuple[_T, int]], int]:
    """The values with most sessions, most first, and how many others there are; `chosen` is always among them."""
    most_common = nsmallest(most, counts.items(), key=lambda item: (-item[1], str(item[0])))
    if chosen is not None and chosen not in dict(most_common):
        most_common = [*most_common[: most - 1], (chosen, counts.get(chosen, 0))]
    return most_common, len(counts) - sum(value in counts for value, _ in most_common)


def _by_name(
    db: orm.Session, view: View, numbers: Counts
) -> Iterator[tuple[Sequence[str], Mapping[str, Mapping[str, int]]]]:
    """Facets and how many sessions have each of their values: those that nothing is chosen in at once, or, where
    everything is in view, one by one, so that the first are there in time."""
    chosen = [name for name in FACETS if getattr(view.filters, name) is not None]
    open_names = [name for name in FACETS if name not in chosen and name != "label"]
    few = numbers.total * _FEW < numbers.of
    for names in [open_names] if view.is_narrowed() else [[name] for name in open_names]:
        yield names, _values(db, view, names, (), few=few)
    yield ["label"], {"label": _labels(db, view, numbers)}
    for name in chosen:
        if name != "label":
            yield [name], _values(db, view, [name], (name,), few=False)


def _values(
    db: orm.Session, view: View, names: Sequence[str], without: Collection[str], *, few: bool
) -> Mapping[str, Mapping[str, int]]:
    stored_names = {stored_name(name, view.filters.under): name for name in names}
    values: dict[str, dict[str, int]] = {name: {} for name in names}
    for name, value, count, _ in sums(db, view, list(stored_names), without, few=few):
        if value:  # a name may be empty
            values[stored_names[name]][value] = count
    return values


def sums(
    db: orm.Session, view: View, names: Sequence[str], without: Collection[str] = (), *, few: bool = False
) -> Iterator[tuple[str, str, int, int]]:
    """(name, value, sessions, responses): how many sessions in view have each value, and how often all together.

    With `few` the rows of these sessions are read, else those of all that have such a value.
    """
    query = sa.select(SessionFacet.value_id, sa.func.count(), sa.func.sum(SessionFacet.count))
    query = query.group_by(SessionFacet.value_id)
    numbers = sa.select(FacetValue.id).where(FacetValue.name.in_(names))
    if view.is_narrowed(*without):
        session_id = SessionFacet.session_id if few else unindexed(SessionFacet.session_id)
        query = query.where(session_id.in_(view.ids(*without)))
    else:
        query = query.where(SessionFacet.session_id.not_in(where.hidden))
    if not (few and view.is_narrowed(*without)):
        query = query.where(SessionFacet.value_id.in_(numbers))
    counts_by_id = {number: (count, total) for number, count, total in db.execute(query)}
    rows = db.execute(sa.select(FacetValue.id, FacetValue.name, FacetValue.value).where(FacetValue.name.in_(names)))
    for number, name, value in rows:
        if number in counts_by_id:
            yield name, value, counts_by_id[number][0], int(counts_by_id[number][1])


def of_sessions(
    db: orm.Session, sessions: sa.Select[Any] | Collection[int], *names: str, value: str | None = None
) -> Iterator[Of]:
    """Session, value and how often it has it under all of these names together, of a few sessions or of a select; of
    one `value` alone where one is given."""
    few = not isinstance(sessions, sa.Select)
    query = sa.select(SessionFacet.session_id, FacetValue.value, sa.func.sum(SessionFacet.count))
    query = query.join(FacetValue, FacetValue.id == SessionFacet.value_id).where(FacetValue.name.in_(names))
    query = query if value is None else query.where(FacetValue.value == value)
    query = query.where((SessionFacet.session_id if few else unindexed(SessionFacet.session_id)).in_(sessions))
    rows = db.connection().execute(query.group_by(SessionFacet.session_id, FacetValue.value))
    yield from ((session_id, value, int(count)) for session_id, value, count in rows)


def total(db: orm.Session, sessions: sa.Select[Any], names: Collection[str], value: str | None = None) -> int:
    """How often these names stand, with `value` where one is given, in all of these sessions together."""
    numbers = sa.select(FacetValue.id).where(FacetValue.name.in_(names))
    numbers = numbers if value is None else numbers.where(FacetValue.value == value)
    query = sa.select(sa.func.sum(SessionFacet.count)).where(SessionFacet.value_id.in_(numbers))
    return int(db.scalar(query.where(unindexed(SessionFacet.session_id).in_(sessions))) or 0)


def totals(db: orm.Session, sessions: sa.Select[Any], names: Collection[str]) -> dict[str, int]:
    """How often each value of these names stands in all of these sessions together."""
    query = sa.select(FacetValue.value, sa.func.sum(SessionFacet.count)).select_from(SessionFacet)
    query = query.join(FacetValue, FacetValue.id == SessionFacet.value_id).where(FacetValue.name.in_(names))
    query = query.where(unindexed(SessionFacet.session_id).in_(sessions)).group_by(FacetValue.value)
    return {value: int(count) for value, count in db.execute(query)}


def _labels(db: orm.Session, view: View, numbers: Counts) -> Mapping[str, int]:
    session_id = Label.turn_id // TURNS_A_SESSION
    query = sa.select(Label.judgement, sa.func.count(session_id.distinct())).group_by(Label.judgement)
    rows = db.execute(query.where(session_id.in_(view.ids("label"))))
    judged: Counter[str] = Counter({row[0]: row[1] for row in rows})
    judged.update(dict(zip(LABELS, (numbers.labelled, numbers.unlabelled), strict=False)))
    return +judged


@dataclass(frozen=True, slots=True)
class ProfileCoverage:
    """A profile was run over `run` of `of` responses; `absent` says why it cannot run here, with the command."""

    profile: str
    run: int
    of: int
    absent: str | None = None

    @property
    def is_whole(self) -> bool:
        return self.run >= self.of

    @property
    def reason(self) -> str | None:
        """In words why there is no number, or a partial one; None where there is nothing to say."""
        if self.is_whole:
            return None
        if self.absent:
            return f"not run: {self.absent}"
        return f"run over {self.run:,} of {self.of:,} responses" if self.run else f"not run over {self.of:,} responses"


def _coverage_of_counts(profile: str, parses: dict[str, int]) -> ProfileCoverage:
    """Of how many parses each profile has. Every response is parsed by `fencepost` as it comes."""
    parser = parsing.profiles().get(profile)
    reason = why_absent(parser) if parser else f"no profile is called {profile!r}"
    return ProfileCoverage(profile, parses.get(profile, 0), parses.get(OURS, 0), reason)


def _parses(db: orm.Session, view: View, profiles: Collection[str], *without: str) -> dict[str, int]:
    """How many parses of each of these profiles the sessions in view have."""
    names = {f"verdict {profile}": profile for profile in (*profiles, OURS)}
    counts: dict[str, int] = {}
    for name, _, _, count in sums(db, view, list(names), without):
        counts[names[name]] = counts.get(names[name], 0) + count
    return counts


def coverage_under(db: orm.Session, view: View) -> ProfileCoverage | None:
    """As `coverage_of`; None, too, where no filter looks under a profile."""
    filters = view.filters
    if filters.under == HOME or not any((filters.verdict, filters.strategy, filters.repair)):
        return None
    return coverage_of(db, view)


def coverage_of(db: orm.Session, view: View) -> ProfileCoverage | None:
    """How far the profile that the filters look under was run over what the other filters leave; None for home."""
    profile = view.filters.under
    return None if profile == HOME else _coverage_of_counts(profile, _parses(db, view, [profile], *OF_PARSE))


def coverage_of_profiles(db: orm.Session) -> dict[str, ProfileCoverage]:
    """How far each profile was run over all sessions."""
    counts = _parses(db, View(Filters()), parsing.profiles())
    return {name: _coverage_of_counts(name, counts) for name in parsing.profiles()}

"""What filters leave in view, and how many sessions each value of a facet has there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from heapq import nsmallest
from operator import and_
from typing import TypeVar

from webapp.store.index.bit_sliced_index import NO_COLUMN, NONE, Bits, Column
from webapp.store.index.session_reader import microseconds
from webapp.store.index.state import VERDICT_NUMBERS, State
from webapp.store.sessions.filters import HOME, LABELS, NARROWING, Filters
from webapp.store.write.home import UNKNOWN
from webapp.store.write.tally import VERDICTS

FACETS = (
    *("verdict", "strategy", "repair", "error", "finding", "model", "agent", "phase", "tool"),
    *("home", "label", "service", "format"),
)
"""in the order that a page shows them"""
MOST_VALUES = 50
_UNDER = {"verdict": "verdict", "strategy": "won", "repair": "repair"}
"""facets that are counted by profile, and what the index calls them"""
_LABELLED = LABELS[:2]

_T = TypeVar("_T")
DumpSlots = Callable[[str], Bits]
"""The sessions of a dump, by its number or hash."""


class Narrowed:
    """One state under some filters. `dump` finds a dump's sessions, and is asked only where the filters name one."""

    def __init__(self, state: State, filters: Filters, dump: DumpSlots) -> None:
        self.state = state
        self.filters = filters
        self.parts = {name: part for name in NARROWING if (part := _part(state, filters, name, dump)) is not None}

    @property
    def view(self) -> Bits:
        return self.without()

    def without(self, *names: str) -> Bits:
        """What is in view where these filters are left out."""
        parts = (part for name, part in self.parts.items() if name not in names)
        return reduce(and_, parts, self.state.alive)

    def counts(self, facet: str) -> dict[str, int]:
        """How many sessions each value of a facet has, among those that the other filters leave in view."""
        base = self.without(facet)
        profile = self.filters.under
        key = (facet, profile if facet in _UNDER else "", base)
        return self.state.keeping(key, lambda: dict(_counts(self.state, facet, profile, base)))


def top(counts: Mapping[_T, int], chosen: _T | None, most: int = MOST_VALUES) -> tuple[list[tuple[_T, int]], int]:
    """The values with most sessions, most first, and how many others there are; `chosen` is always among them."""
    most_common = nsmallest(most, counts.items(), key=lambda item: (-item[1], str(item[0])))
    if chosen is not None and chosen not in dict(most_common):
        most_common = [*most_common[: most - 1], (chosen, counts.get(chosen, 0))]
    return most_common, len(counts) - sum(value in counts for value, _ in most_common)


def under(state: State, kind: str, profile: str) -> Iterator[tuple[Bits | None, dict[str, Column]]]:
    """The columns of `kind` under a profile, each with the sessions that they speak of, None for all of them."""
    if profile != HOME:
        yield None, dict(state.columns(kind, profile))
        return
    for name, home in state.columns("home").items():
        yield home.members, dict(state.columns(kind, name))


def _part(state: State, filters: Filters, name: str, dump: DumpSlots) -> Bits | None:
    """The sessions that one filter lets through; None where it is not set."""
    value = getattr(filters, name)
    if value is None or value is False:
        return None
    if name in ("since", "until"):
        return _before(state, filters, name)
    if name == "verdict" and filters.under == HOME:
        return _known(state, state.numbers[VERDICT_NUMBERS[VERDICTS.index(value)]].positive)
    if name in _UNDER:
        return _having(state, _UNDER[name], filters.under, VERDICTS.index(value) if name == "verdict" else value)
    if name == "dump":
        return state.keeping(("dump", value), lambda: dump(value))
    if name == "failures":
        failed = state.numbers["failed"]
        return state.alive - failed.below(value + 1, state.alive)
    if name in ("failed", "rescued"):
        return state.numbers[name].positive
    if name == "label" and value in _LABELLED:
        labelled = state.numbers["labelled"].positive & state.alive
        return labelled if value == "labelled" else state.alive - labelled
    return state.columns(name).get(value, NO_COLUMN).members


def _before(state: State, filters: Filters, name: str) -> Bits:
    since, until = filters.span()
    when = state.numbers["when"]
    if name == "until" and until is not None:
        return when.below(microseconds(until), state.alive)
    return state.alive - when.below(microseconds(since), state.alive) if since is not None else state.alive


def _known(state: State, sessions: Bits) -> Bits:
    """Those sessions whose parser is known: of the others no verdict says what happened."""
    unknown = state.columns("home").get(UNKNOWN, NO_COLUMN).members
    return sessions - unknown


def _having(state: State, kind: str, profile: str, value: object) -> Bits:
    slots = NONE
    for home, columns in under(state, kind, profile):
        having = columns[value].members if value in columns else NONE
        slots |= having if home is None else having & home
    return slots


def _counts(state: State, facet: str, profile: str, base: Bits) -> Iterable[tuple[str, int]]:
    if facet == "verdict" and profile == HOME:
        sets = (
            (verdict, _known(state, state.numbers[name].positive & base))
            for verdict, name in zip(VERDICTS, VERDICT_NUMBERS, strict=True)
        )
        return [(verdict, len(bits)) for verdict, bits in sets if bits]
    if facet in _UNDER:
        return _counts_under(state, facet, profile, base)
    counts = [(value, column.sessions(base)) for value, column in state.columns(facet).items()]
    if facet == "label":
        labelled = state.numbers["labelled"].positive.intersection_cardinality(base)
        counts += [("labelled", labelled), ("unlabelled", len(base) - labelled)]
    return [item for item in counts if item[1]]


def _counts_under(state: State, facet: str, profile: str, base: Bits) -> Iterable[tuple[str, int]]:
    counts: dict[str, int] = {}
    for home, columns in under(state, _UNDER[facet], profile):
        view = base if home is None else base & home
        if not view:
            continue
        for value, column in columns.items():
            name = VERDICTS[value] if facet == "verdict" else value  # type: ignore[call-overload]
            if name and (count := column.sessions(view)):
                counts[name] = counts.get(name, 0) + count
    return counts.items()

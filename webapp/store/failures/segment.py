"""A segment: failed responses in the order of their times, as sets of places (see `store.index.bit_sliced_index`).

Place n is the nth response by time, so that a stretch of time is a stretch of places, and the first and the last place
of a set are when it was first and last seen. A segment never changes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, TypeVar

from webapp.store.failures.failure_reader import StoredFailure
from webapp.store.index.bit_sliced_index import NO_COLUMN, NONE, Bits, Column, of_slots
from webapp.store.index.state import State, keeping
from webapp.store.models import TURNS_A_SESSION

DIMENSIONS = ("key", "model", "agent", "phase", "tool", "path", "tokens", "parse", "finding")
"""what a response is looked up by; `parse` is (profile, version) of the parse that failed"""
_COUNTED = ("model", "tool", "path", "finding")
_MOST_KEPT = 600
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a set of responses: how many, in how many sessions, and how many have each value; `findings`
    counts sessions."""

    count: int
    sessions: int
    models: Counter[str | None]
    tools: Counter[str]
    paths: Counter[str]
    findings: Counter[str]
    labelled: int

    def __add__(self, other: Facts) -> Facts:
        """Those of two sets that share no session."""
        return Facts(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Segment:
    """`failures` in order; `columns` say by dimension and value which places have it, `session_ids` whose they are."""

    failures: Sequence[StoredFailure]
    whens: array[int]
    session_ids: Sequence[int]
    session_at: Sequence[int]
    columns: dict[str, dict[Any, Column]]
    labelled: Bits
    firsts: dict[str, Bits]
    """by key, the places of the responses that are the first of it in their session"""
    first_at: Sequence[int]
    """by place, the place of the first response of the same key and session"""
    by_session: tuple[array[int], array[int]]
    """the places in the order of their sessions' ids, and these ids"""
    together: dict[str, dict[str, list[Any]]]
    """by key and dimension, the values that its responses have"""
    cache: dict[Any, Any] = field(default_factory=dict)

    @property
    def all(self) -> Bits:
        return of_slots(range(len(self.failures)))

    def having(self, dimension: str, value: Any) -> Bits:
        """The places of responses that have a value."""
        return self.columns[dimension].get(value, NO_COLUMN).members

    def between(self, since: int | None, until: int | None) -> Bits:
        """The places from one time on, before another."""
        low = 0 if since is None else bisect_left(self.whens, since)
        high = len(self.whens) if until is None else bisect_left(self.whens, until)
        return of_slots(range(low, high)) if high > low else NONE

    def first(self, bits: Bits) -> int:
        """The time of the first of these responses, which are some."""
        return self.whens[bits.min()]

    def last(self, bits: Bits) -> int:
        return self.whens[bits.max()]

    def of_sessions(self, session_ids: Iterable[int]) -> Bits:
        """The places of the responses of these sessions."""
        return of_slots(place for session_id in session_ids for place in self._places(session_id))

    def in_view(self, state: State, view: Bits) -> Bits:
        """The places whose sessions are in view: `view` are slots of `state`."""
        return self._keeping(("view", view), lambda: self._in_view(state, view))

    def facts(self, bits: Bits, key: str) -> Facts:
        """What is known of responses that are mostly of one key."""
        return self._keeping(("facts", bits), lambda: self._facts(bits, self._keys(bits, key)))

    def first_by_model(self, bits: Bits) -> dict[str | None, int]:
        """By model, the time of the first of these responses."""
        return self._keeping(("first by model", bits), lambda: self._first_by_model(bits))

    def place(self, when: int) -> int:
        """The place of the first response from a time on."""
        return bisect_left(self.whens, when)

    def _places(self, session_id: int) -> array[int]:
        places, ids = self.by_session
        return places[bisect_left(ids, session_id) : bisect_right(ids, session_id)]

    def _in_view(self, state: State, view: Bits) -> Bits:
        slots = [state.slot(session_id) for session_id in self.session_ids]
        is_in_view = [slot is not None and slot in view for slot in slots]
        return of_slots(compress(range(len(self.session_at)), map(is_in_view.__getitem__, self.session_at)))

    def _first_by_model(self, bits: Bits) -> dict[str | None, int]:
        sets = ((model, bits & column.members) for model, column in self.columns["model"].items())
        return {model: self.first(model_bits) for model, model_bits in sets if model_bits}

    def _keys(self, bits: Bits, key: str) -> list[str]:
        """The keys that these responses have: of a group that nobody merged it is its own."""
        if bits.issubset(self.having("key", key)):
            return [key]
        return [group_key for group_key, column in self.columns["key"].items() if column.sessions(bits)]

    def _facts(self, bits: Bits, keys: Sequence[str]) -> Facts:
        counters: dict[str, Counter[Any]] = {}
        for dimension in _COUNTED:
            columns = self.columns[dimension]
            values = dict.fromkeys(value for key in keys for value in self.together[key].get(dimension, ()))
            if dimension == "finding":
                counts = {value: self._sessions(bits & columns[value].members, keys) for value in values}
            else:
                counts = {value: columns[value].sessions(bits) for value in values}
            counters[dimension] = Counter(
                {value: count for value, count in counts.items() if count and value is not None}
            )
        without = len(bits) - sum(counters["model"].values())
        models = counters["model"] + Counter({None: without} if without else {})
        return Facts(
            len(bits),
            self._sessions(bits, keys),
            models,
            counters["tool"],
            counters["path"],
            counters["finding"],
            bits.intersection_cardinality(self.labelled),
        )

    def _sessions(self, bits: Bits, keys: Sequence[str]) -> int:
        """In how many sessions these responses are, which have these keys.

        Of one key those are counted that are its first in their session, and of the others those whose first is left
        out: a session has few of them.
        """
        if len(keys) != 1:
            return len({self.session_at[place] for place in bits})
        firsts = bits & self.firsts[keys[0]]
        more_sessions = {self.session_at[place] for place in bits - firsts if self.first_at[place] not in firsts}
        return len(firsts) + len(more_sessions)

    def _keeping(self, key: Any, make: Callable[[], _T]) -> _T:
        return keeping(self.cache, _MOST_KEPT, key, make)


def segment(failures: Sequence[StoredFailure]) -> Segment:
    """The segment of these responses, in any order."""
    ordered = sorted(failures, key=lambda failure: (failure.when, failure.turn_id))
    places: dict[str, dict[Any, list[int]]] = {name: defaultdict(list) for name in DIMENSIONS}
    labelled: list[int] = []
    for place, failure in enumerate(ordered):
        for name in ("key", "model", "agent", "phase", "path", "tokens"):
            places[name][getattr(failure, name)].append(place)
        for name, values in (("tool", failure.tools), ("finding", failure.findings)):
            for value in values:
                places[name][value].append(place)
        places["parse"][failure.profile, failure.version].append(place)
        if failure.labelled:
            labelled.append(place)
    of_session = [failure.turn_id // TURNS_A_SESSION for failure in ordered]
    session_ids = list(dict.fromkeys(of_session))
    at = {session_id: index for index, session_id in enumerate(session_ids)}
    columns = {
        name: {value: NO_COLUMN.extended(value_places, None) for value, value_places in by_value.items()}
        for name, by_value in places.items()
    }
    first_at: list[int] = []
    first_of_session: dict[tuple[str, int], int] = {}
    together: dict[str, dict[str, dict[Any, None]]] = defaultdict(lambda: defaultdict(dict))
    for place, failure in enumerate(ordered):
        first_at.append(first_of_session.setdefault((failure.key, of_session[place]), place))
        together[failure.key]["model"][failure.model] = None
        together[failure.key]["path"][failure.path] = None
        together[failure.key]["tool"].update(dict.fromkeys(failure.tools))
        together[failure.key]["finding"].update(dict.fromkeys(failure.findings))
    first_places: dict[str, list[int]] = defaultdict(list)
    for (key, _), place in first_of_session.items():
        first_places[key].append(place)
    return Segment(
        ordered,
        array("q", [failure.when for failure in ordered]),
        session_ids,
        [at[number] for number in of_session],
        columns,
        of_slots(labelled),
        {key: of_slots(value_places) for key, value_places in first_places.items()},
        first_at,
        _by_session(of_session),
        {key: {name: list(values) for name, values in of_key.items()} for key, of_key in together.items()},
    )


def _by_session(of_session: Sequence[int]) -> tuple[array[int], array[int]]:
    places = array("q", sorted(range(len(of_session)), key=of_session.__getitem__))
    return places, array("q", map(of_session.__getitem__, places))

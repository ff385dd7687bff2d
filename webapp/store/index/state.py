"""The index as it stands at one moment: nothing in it changes; what is new makes another one."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

from webapp.store.index.bit_sliced_index import NO_COLUMN, NONE, Bits, Column, Numbers, no_numbers, of_slots
from webapp.store.index.session_reader import Row

_T = TypeVar("_T")
Dimension = tuple[str, ...]
"""What a column is of: ("model",), or ("verdict", "fencepost")."""
Columns = Mapping[Any, Column]
VERDICT_NUMBERS = ("clean", "extracted", "repaired", "unparsed", "none")
"""in the order of `tally.VERDICTS`: responses by their verdict under the home profile"""
NUMBERS = (
    *("id", "changed", "when", "failed", "rescued", "responses", "turns", "bytes", "labelled"),
    *VERDICT_NUMBERS,
)
_NOTHING: Columns = {}
_MOST_KEPT = 200


def keeping(cache: dict[Any, Any], most: int, key: Any, make: Callable[[], _T]) -> _T:
    """What `make` gives, from before where `cache`, which holds so many at most, has it under `key`."""
    value: _T | None = cache.get(key)
    if value is None:
        value = make()
        if len(cache) >= most:
            cache.clear()
        cache[key] = value
    return value


@dataclass(frozen=True, slots=True)
class State:
    """`alive` are the slots that hold a session; one that changes gets a new slot, and its old one is dead.

    The ids of the first `ordered` slots are ascending; `moved` has the slots of sessions that came or changed later.
    """

    size: int = 0
    alive: Bits = NONE
    ordered: int = 0
    reading: object = field(default_factory=object)
    """the same in all states that grew out of one reading, in which a slot keeps its session"""
    moved: Mapping[int, int] = field(default_factory=dict)
    numbers: Mapping[str, Numbers] = field(default_factory=lambda: {name: no_numbers() for name in NUMBERS})
    dimensions: Mapping[Dimension, Columns] = field(default_factory=dict)
    cache: dict[Any, Any] = field(default_factory=dict)
    """what was worked out from this state and may be asked for again; see `keeping`"""

    def keeping(self, key: Any, make: Callable[[], _T]) -> _T:
        """What `make` gives for this state, from before where it is among the last ones."""
        return keeping(self.cache, _MOST_KEPT, key, make)

    def columns(self, *dimension: str) -> Columns:
        """The columns of one dimension, by value."""
        return self.dimensions.get(dimension, _NOTHING)

    def slot(self, session_id: int) -> int | None:
        """Where a session stands; also one that was deleted, whose slot is dead."""
        if (slot := self.moved.get(session_id)) is not None:
            return slot
        ids, ordered = self.numbers["id"].values, self.ordered
        at = bisect_left(ids, session_id, 0, ordered)
        return at if at < ordered and ids[at] == session_id else None

    def slots(self, session_ids: Iterable[int]) -> Bits:
        """The slots of these sessions that are there."""
        slots = (self.slot(session_id) for session_id in session_ids)
        return of_slots(slot for slot in slots if slot is not None) & self.alive

    def ids(self, slots: Iterable[int]) -> Iterator[int]:
        """The sessions that stand in these slots, in their order."""
        return map(self.numbers["id"].values.__getitem__, slots)

    def check_sum(self) -> tuple[int, int]:
        """How many sessions there are, and the sum of their `changed`: as `session_reader.check_sum` counts them."""
        changes, dead = self.numbers["changed"].values, of_slots(range(self.size)) - self.alive
        total = sum(islice(changes, self.size)) - sum(changes[slot] for slot in dead)
        return len(self.alive), total

    def follows(self, other: State) -> bool:
        """Whether this is the other one with some sessions changed, not one that was read again from the beginning."""
        return self.reading is other.reading and self.size >= other.size

    def profiles(self) -> list[str]:
        """The profiles under which anything was parsed."""
        return sorted(dimension[1] for dimension in self.dimensions if dimension[0] == "verdict")

    def extended(self, rows: Iterable[Row], removed: Iterable[int] = ()) -> State:
        """With these sessions, in the order of their ids, as they are now, and without those that are gone."""
        gathered = _Gathered(self.size)
        for row in rows:
            gathered.add(row)
        ids = gathered.numbers["id"]
        dead = [slot for number in (*ids, *removed) if (slot := self.slot(number)) is not None]
        last_id = self.numbers["id"].values[self.size - 1] if self.size else -1
        in_order = self.ordered == self.size and (not ids or ids[0] > last_id)
        moved = self.moved
        if not in_order:
            moved = {**moved, **dict(zip(ids, range(self.size, gathered.next), strict=True))}
        return replace(
            self,
            size=gathered.next,
            alive=self.alive - of_slots(dead) | of_slots(range(self.size, gathered.next)),
            ordered=gathered.next if in_order else self.ordered,
            moved=moved,
            numbers={name: self.numbers[name].extended(values) for name, values in gathered.numbers.items()},
            dimensions=self._dimensions(gathered),
            cache={},
        )

    def _dimensions(self, gathered: _Gathered) -> dict[Dimension, Columns]:
        dimensions = dict(self.dimensions)
        for dimension, values in gathered.counted.items():
            columns = dict(dimensions.get(dimension, _NOTHING))
            for value, (slots, numbers) in values.items():
                counted = numbers if len(numbers) == len(slots) else None
                columns[value] = columns.get(value, NO_COLUMN).extended(slots, counted)
            dimensions[dimension] = columns
        return dimensions


_Pair = tuple["array[int]", "array[int]"]


class _Gathered:
    """What rows say, column by column."""

    def __init__(self, first: int) -> None:
        self.next = first
        self.numbers: dict[str, array[int]] = {name: array("q") for name in NUMBERS}
        self.counted: dict[Dimension, dict[Any, _Pair]] = defaultdict(
            lambda: defaultdict(lambda: (array("I"), array("q")))
        )

    def add(self, row: Row) -> None:
        slot = self.next
        self.next += 1
        for name in NUMBERS:
            self.numbers[name].append(getattr(row, name))
        counted, facets = self.counted, row.facets
        counted["home",][row.home][0].append(slot)
        counted["home_source",][row.home_source][0].append(slot)
        counted["format",][row.format][0].append(slot)
        if row.service is not None:
            counted["service",][row.service][0].append(slot)
        for judgement in row.judgements:
            counted["label",][judgement][0].append(slot)
        for dimension, part in (("agent", "agents"), ("phase", "phases"), ("tool", "tools")):
            for value in facets.get(part, ()):
                counted[dimension,][value][0].append(slot)
        self._count(("error",), facets.get("errors"), slot)
        self._count(("finding",), facets.get("finding"), slot)
        for model, verdicts in facets.get("models", {}).items():
            counted["model",][model][0].append(slot)
            self._count(("made", model), enumerate(verdicts), slot)
        for profile, counters in facets.get("profiles", {}).items():
            self._profile(profile, counters, slot)

    def _profile(self, profile: str, counters: Mapping[str, Any], slot: int) -> None:
        self._count(("verdict", profile), enumerate(counters["verdicts"]), slot)
        self._count(("repair", profile), counters.get("repairs"), slot)
        self._count(("tried", profile), counters.get("tried"), slot)
        won, took, parses = (self.counted[name, profile] for name in ("won", "took", "parses"))
        for strategy, (count, microseconds, exponents) in counters["won"].items():
            for columns, number in ((won, count), (took, microseconds)):
                slots, numbers = columns[strategy]
                slots.append(slot)
                numbers.append(number)
            for exponent, number in exponents.items():
                slots, numbers = parses[strategy, int(exponent)]
                slots.append(slot)
                numbers.append(number)

    def _count(self, dimension: Dimension, counts: Any, slot: int) -> None:
        if not counts:
            return
        columns = self.counted[dimension]
        for value, number in counts.items() if isinstance(counts, dict) else counts:
            if number:
                slots, numbers = columns[value]
                slots.append(slot)
                numbers.append(number)

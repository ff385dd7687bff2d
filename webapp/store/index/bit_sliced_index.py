"""Sets of slots as roaring bitmaps, and numbers by slot as one such set a binary digit.

A slot is a session's place in the index. Two sets of a million slots are compared in microseconds, so that any
combination of filters is a few of these steps.
Numbers by their digits: O'Neil and Quass, "Improved query performance with variant indexes" (SIGMOD 1997).
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

from pyroaring import FrozenBitMap

Bits = FrozenBitMap
"""a set of slots that never changes"""
Planes = tuple[FrozenBitMap, ...]
"""numbers by slot, a set a binary digit, least first"""
NONE = Bits()
_MOST_RECENT = 1000
"""slots that a column keeps apart, before they are put to the others"""
_IS_SET = [bytes(byte >> digit & 1 for byte in range(256)) for digit in range(8)]


@dataclass(frozen=True, slots=True)
class SlotCounts:
    """Which slots have a value, and how often each; one that only says which has no planes."""

    slots: Bits = NONE
    planes: Planes = ()

    def extended(self, more: SlotCounts) -> SlotCounts:
        """With others, of which none is in both."""
        return SlotCounts(self.slots | more.slots, either(self.planes, more.planes))


@dataclass(frozen=True, slots=True)
class Column:
    """What the sessions have of one value: the `recent` ones are kept apart, so that a write copies no large set."""

    settled: SlotCounts = SlotCounts()
    recent: SlotCounts = SlotCounts()

    @property
    def members(self) -> Bits:
        """The sessions that have it."""
        return self.settled.slots | self.recent.slots if self.recent.slots else self.settled.slots

    def sessions(self, view: Bits) -> int:
        """How many sessions in view have it."""
        return sum(part.slots.intersection_cardinality(view) for part in (self.settled, self.recent) if part.slots)

    def total(self, view: Bits) -> int:
        """How often the sessions in view have it, all together."""
        return summed(self.settled.planes, view) + summed(self.recent.planes, view)

    def has(self, slot: int) -> bool:
        return slot in self.settled.slots or slot in self.recent.slots

    def extended(self, slots: Sequence[int], numbers: Sequence[int] | None) -> Column:
        """This column and more: `slots` are new and ascending."""
        new = SlotCounts(of_slots(slots), () if numbers is None else _digits(array("q", numbers), slots))
        recent = self.recent.extended(new)
        if len(recent.slots) <= _MOST_RECENT:
            return Column(self.settled, recent)
        return Column(self.settled.extended(recent))


NO_COLUMN = Column()


class Numbers:
    """A number from 0 to 2 ** 63 - 1 for every slot: as a list, as planes, and where it is not 0.

    `values` goes on behind `size` where a later state added to it. Planes are made of what is new when asked for.
    """

    __slots__ = ("_positive", "_sliced", "size", "values")

    def __init__(self, values: array[int], size: int, sliced: tuple[int, Planes] = (0, ())) -> None:
        """`sliced` says of how many of the slots there are planes already, and these."""
        self.values = values
        self.size = size
        self._sliced = sliced
        self._positive: Bits | None = None

    @property
    def planes(self) -> Planes:
        known, planes = self._sliced
        if known < self.size:
            planes = either(planes, _digits(self.values[known : self.size], range(known, self.size)))
            self._sliced = self.size, planes
        return planes

    @property
    def positive(self) -> Bits:
        if self._positive is None:
            self._positive = Bits.union(NONE, *self.planes)
        return self._positive

    def extended(self, new: Sequence[int]) -> Numbers:
        """With the next slots' numbers."""
        values = self.values if len(self.values) == self.size else self.values[: self.size]
        code = max(values.typecode, _code(max(new, default=0)), key=_CODES.index)
        if code != values.typecode:
            values = array(code, values)
        values.extend(array(code, new))
        return Numbers(values, self.size + len(new), self._sliced)

    def total(self, view: Bits) -> int:
        return summed(self.planes, view)

    def below(self, number: int, among: Bits) -> Bits:
        """Those of `among` whose number is less than `number`."""
        return behind([self.planes], [number], among)[0]

    def least(self, among: Bits) -> int:
        """The least number of `among`, which is not empty."""
        return self._extreme(among, 0)

    def greatest(self, among: Bits) -> int:
        return self._extreme(among, 1)

    def _extreme(self, among: Bits, wanted_digit: int) -> int:
        number = 0
        for digit in range(len(self.planes) - 1, -1, -1):
            ones = among & self.planes[digit]
            having = ones if wanted_digit else among - ones
            number |= (wanted_digit if having else 1 - wanted_digit) << digit
            among = having or among
        return number


_CODES = "BHIq"
"""of arrays, the narrowest first"""


def _code(number: int) -> str:
    return next(code for code in _CODES if code == "q" or number >> 8 * array(code).itemsize == 0)


def no_numbers() -> Numbers:
    """For no slots."""
    return Numbers(array("B"), 0)


def of_slots(slots: Iterable[int]) -> Bits:
    """The set of these slots, in any order."""
    return Bits(slots if isinstance(slots, range) else array("I", slots))


def summed(planes: Planes, bits: Bits) -> int:
    return sum(plane.intersection_cardinality(bits) << digit for digit, plane in enumerate(planes))


def behind(keys: Sequence[Planes], values: Sequence[int], among: Bits) -> tuple[Bits, Bits]:
    """Those of `among` whose keys, most important first, come before `values` when counting up; and those with these.

    One pass over the digits, most important first: who has 0 where the bound has 1 is below it.
    """
    below, same = NONE, among
    for planes, value in zip(keys, values, strict=True):
        if value >> len(planes):
            return below | same, NONE
        for digit in range(len(planes) - 1, -1, -1):
            ones = same & planes[digit]
            if value >> digit & 1:
                below |= same - ones
                same = ones
            else:
                same -= ones
            if not same:
                return below, NONE
    return below, same


def highest(keys: Sequence[Planes], count: int, among: Bits) -> Bits:
    """The `count` of `among` with the highest keys, most important key first; more only where keys are the same."""
    sure, maybe = NONE, among
    if len(among) <= count:
        return among
    for planes in keys:
        for plane in reversed(planes):
            ones = maybe & plane
            at_least = len(sure) + len(ones)
            if at_least > count:
                maybe = ones
            else:
                sure |= ones
                maybe -= ones
            if at_least == count:
                return sure
    return sure | maybe


def either(first: Planes, second: Planes) -> Planes:
    """The planes of two sets of slots that share none."""
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    return tuple(plane | shorter[at] if at < len(shorter) else plane for at, plane in enumerate(longer))


def _digits(numbers: array[int], slots: Sequence[int]) -> Planes:
    """The planes of numbers, of which each is of the slot at the same place."""
    width = max(numbers, default=0).bit_length()
    data, size = numbers.tobytes(), numbers.itemsize
    planes: list[Bits] = []
    for place in range(0, width, 8):
        column = data[place >> 3 if sys.byteorder == "little" else size - 1 - (place >> 3) :: size]
        digits = _IS_SET[: width - place]
        planes += (of_slots(compress(slots, column.translate(is_set))) for is_set in digits)
    return tuple(planes)

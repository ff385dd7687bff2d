"""Sets of slots as one whole number each, and numbers by slot as one such set a binary digit.

A slot is a session's place in the index. Python's `&`, `|` and `bit_count` go over 50,000 slots in microseconds, so
that any combination of filters is a few of them. Sets of few slots are kept as lists of these.
Numbers by their digits: O'Neil and Quass, "Improved query performance with variant indexes" (SIGMOD 1997).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

Bits = int
"""a set of slots: slot n is in it where digit n is 1"""

_SPARSE = 128
"""one slot in so many, or fewer, are kept as a list"""
_MOST_SINCE = 16
"""slots that came since a column's sets were made, before they are made again"""
_DIGITS = [bytes(48 + (byte >> digit & 1) for byte in range(256)) for digit in range(8)]
_IN_BYTE = [tuple(digit for digit in range(8) if byte >> digit & 1) for byte in range(256)]
_SOME = re.compile(rb"[^\0]", re.DOTALL)


def of_slots(slots: Sequence[int]) -> Bits:
    """The set of these slots, in any order."""
    if len(slots) < 4:
        return sum({1 << slot for slot in slots})
    cells = bytearray((max(slots) >> 3) + 1)
    for slot in slots:
        cells[slot >> 3] |= 1 << (slot & 7)
    return int.from_bytes(cells, "little")


def slots_of(bits: Bits) -> list[int]:
    """The slots in a set, ascending."""
    data = to_bytes(bits)
    places = (match.start() for match in _SOME.finditer(data))
    return [(place << 3) + digit for place in places for digit in _IN_BYTE[data[place]]]


def to_bytes(bits: Bits) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) >> 3, "little")


class View:
    """A set of slots to count in; its bytes are there once something sparse is counted."""

    __slots__ = ("_data", "bits")

    def __init__(self, bits: Bits) -> None:
        self.bits = bits
        self._data: bytes | None = None

    def holds(self, slots: Collection[int]) -> list[bool]:
        """Whether each of `slots` is in view."""
        if self._data is None:
            self._data = to_bytes(self.bits)
        data, size = self._data, len(self._data)
        return [slot >> 3 < size and data[slot >> 3] >> (slot & 7) & 1 == 1 for slot in slots]


@dataclass(frozen=True, slots=True)
class Column:
    """What the sessions have of one value: which have it, and how often each.

    Many sessions: `members`, and `planes`, a set a binary digit, least first. Few, and those that came since the
    sets were made: `slots` and `numbers`, so that a write copies no set. None is in both.
    A column that only says which sessions has neither planes nor numbers.
    """

    members: Bits = 0
    planes: tuple[Bits, ...] = ()
    slots: array[int] = field(default_factory=lambda: array("I"))
    numbers: array[int] | None = None

    def set(self) -> Bits:
        """The sessions that have it."""
        return self.members | of_slots(self.slots) if self.slots else self.members

    def sessions(self, view: View) -> int:
        """How many sessions in view have it."""
        of_many = (self.members & view.bits).bit_count()
        return of_many + sum(view.holds(self.slots)) if self.slots else of_many

    def total(self, view: View) -> int:
        """How often the sessions in view have it, all together."""
        of_many = summed(self.planes, view.bits)
        if not self.slots or self.numbers is None:
            return of_many
        is_held = view.holds(self.slots)
        return of_many + sum(number for number, is_there in zip(self.numbers, is_held, strict=True) if is_there)

    def among(self, slots: frozenset[int]) -> frozenset[int]:
        """Those of `slots` that have it."""
        return slots.intersection(self.slots).union(slot for slot in slots if self.members >> slot & 1)

    def extended(self, slots: Sequence[int], numbers: Sequence[int] | None, size: int) -> Column:
        """This column and more: `slots` are new and ascending, all below `size`, the number of slots there are."""
        few = self.slots + array("I", slots)
        of_few = None if numbers is None else (self.numbers or array("q")) + array("q", numbers)
        most = _MOST_SINCE if self.members else size // _SPARSE
        if len(few) <= most:
            return Column(self.members, self.planes, few, of_few)
        planes = () if of_few is None else _either(self.planes, _planes(few, of_few))
        return Column(self.members | of_slots(few), planes)


class Numbers:
    """A number from 0 to 2 ** 63 - 1 for every slot: as a list, as planes (least first), and where it is not 0.

    `values` goes on behind `size` where a later state added to it. Planes are made of what is new when asked for.
    """

    __slots__ = ("_positive", "_sliced", "size", "values")

    def __init__(self, values: array[int], size: int, sliced: tuple[int, tuple[Bits, ...]] = (0, ())) -> None:
        """`sliced` says of how many of the slots there are planes already, and these."""
        self.values = values
        self.size = size
        self._sliced = sliced
        self._positive: Bits | None = None

    @property
    def planes(self) -> tuple[Bits, ...]:
        known, planes = self._sliced
        if known < self.size:
            planes = _either(planes, tuple(plane << known for plane in _digits(self.values[known : self.size])))
            self._sliced = self.size, planes
        return planes

    @property
    def positive(self) -> Bits:
        if self._positive is None:
            self._positive = reduce(or_, self.planes, 0)
        return self._positive

    def extended(self, new: Sequence[int]) -> Numbers:
        """With the next slots' numbers."""
        values = self.values if len(self.values) == self.size else self.values[: self.size]
        code = max(values.typecode, _code(max(new, default=0)), key=_CODES.index)
        if code != values.typecode:
            values = array(code, values)
        values.extend(array(code, new))
        return Numbers(values, self.size + len(new), self._sliced)

    def total(self, view: View) -> int:
        return summed(self.planes, view.bits)

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
            having = ones if wanted_digit else among ^ ones
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


def summed(planes: tuple[Bits, ...], bits: Bits) -> int:
    return sum((plane & bits).bit_count() << digit for digit, plane in enumerate(planes))


def behind(keys: Sequence[tuple[Bits, ...]], values: Sequence[int], among: Bits) -> tuple[Bits, Bits]:
    """Those of `among` whose keys, most important first, come before `values` when counting up; and those with these.

    One pass over the digits, most important first: who has 0 where the bound has 1 is below it.
    """
    below, same = 0, among
    for planes, value in zip(keys, values, strict=True):
        if value >> len(planes):
            return below | same, 0
        for digit in range(len(planes) - 1, -1, -1):
            ones = same & planes[digit]
            if value >> digit & 1:
                below |= same ^ ones
                same = ones
            else:
                same ^= ones
            if not same:
                return below, 0
    return below, same


def highest(keys: Sequence[tuple[Bits, ...]], count: int, among: Bits) -> Bits:
    """The `count` of `among` with the highest keys, most important key first; more only where keys are the same."""
    sure, maybe = 0, among
    if among.bit_count() <= count:
        return among
    for planes in keys:
        for plane in reversed(planes):
            ones = maybe & plane
            at_least = (sure | ones).bit_count()
            if at_least > count:
                maybe = ones
            else:
                sure |= ones
                maybe ^= ones
            if at_least == count:
                return sure
    return sure | maybe


def _planes(slots: Sequence[int], numbers: Sequence[int]) -> tuple[Bits, ...]:
    first = min(slots)
    cells = array("q", bytes(8 * (max(slots) - first + 1)))
    for slot, number in zip(slots, numbers, strict=True):
        cells[slot - first] = number
    return tuple(plane << first for plane in _digits(cells))


def _digits(cells: array[int]) -> tuple[Bits, ...]:
    """The planes of numbers that stand one after the other."""
    width = max(cells, default=0).bit_length()
    data, size = cells.tobytes(), cells.itemsize
    planes: list[Bits] = []
    for place in range(0, width, 8):
        column = data[place >> 3 if _LITTLE else size - 1 - (place >> 3) :: size][::-1]
        planes += [int(column.translate(_DIGITS[digit]), 2) for digit in range(min(8, width - place))]
    return tuple(planes)


_LITTLE = array("H", [1]).tobytes() == b"\1\0"


def _either(first: tuple[Bits, ...], second: tuple[Bits, ...]) -> tuple[Bits, ...]:
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    return tuple(plane | shorter[at] if at < len(shorter) else plane for at, plane in enumerate(longer))

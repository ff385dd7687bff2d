"""The responses of a group as places in segments, and what is known of them together."""

from __future__ import annotations

from functools import reduce
from operator import add

from webapp.store.failures.failure_reader import StoredFailure
from webapp.store.failures.segment import Facts, Segment
from webapp.store.index.bit_sliced_index import Bits

GroupPlaces = tuple[tuple[Segment, Bits], ...]
"""the responses of a group: of each segment, the places"""


def together(places: GroupPlaces, key: str) -> Facts:
    """The facts of the responses of the group `key`; no session stands in two segments."""
    return reduce(add, (segment.facts(bits, key) for segment, bits in places))


def first_and_last(places: GroupPlaces) -> tuple[int, int]:
    """The times of the first and the last of some responses."""
    filled = [(segment, bits) for segment, bits in places if bits]
    return min(segment.first(bits) for segment, bits in filled), max(segment.last(bits) for segment, bits in filled)


def newest_first(places: GroupPlaces) -> list[StoredFailure]:
    """The responses of a group."""
    failures = [segment.failures[place] for segment, bits in places for place in bits]
    return sorted(failures, key=lambda failure: (-failure.when, -failure.turn_id))


def versions(places: GroupPlaces) -> dict[str, list[str]]:
    """The versions of the parses that failed, by profile."""
    by_profile: dict[str, list[str]] = {}
    for segment, bits in places:
        for (profile, version), column in segment.columns["parse"].items():
            if profile and column.members & bits:
                by_profile.setdefault(profile, []).append(version)
    return by_profile


def newest_turn(places: GroupPlaces) -> int:
    """The turn of the last of a group's responses."""
    return max(segment.failures[bits.max()].place for segment, bits in places)[1]

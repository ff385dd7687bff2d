"""The orders of the list, and the cursor that says where its next page begins."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence

from webapp.store.index import bits
from webapp.store.index.bits import Bits
from webapp.store.index.state import State

_KEYS = {
    "failing": ("some failed", "when", "id"),
    "time": ("when", "id"),
    "failures": ("failed", "when", "id"),
    "length": ("responses", "when", "id"),
}
"""most important first; all of them descend, and the last says which of two otherwise equal sessions comes first"""


class BadCursor(ValueError):
    """`after` is not what a page gave as `next`."""


def first(state: State, sort: str, view: Bits, after: str | None, limit: int) -> tuple[list[int], str | None]:
    """The slots of the next page in order, and the cursor behind it, None on the last. Raises `BadCursor`."""
    planes = [_planes(state, key) for key in _KEYS[sort]]
    if after is not None:
        view, _ = bits.behind(planes, decoded(after, sort, len(planes)), view)
    found = bits.slots_of(bits.highest(planes, limit + 1, view))
    found.sort(key=lambda slot: _values(state, sort, slot), reverse=True)
    more = len(found) > limit
    return found[:limit], encoded(sort, _values(state, sort, found[limit - 1])) if more else None


def _planes(state: State, key: str) -> tuple[Bits, ...]:
    if key == "some failed":
        return (state.numbers["failed"].some,)
    return state.numbers[key].planes


def _values(state: State, sort: str, slot: int) -> list[int]:
    numbers = state.numbers
    return [
        int(numbers["failed"].values[slot] > 0) if key == "some failed" else numbers[key].values[slot]
        for key in _KEYS[sort]
    ]


def encoded(sort: str, values: Sequence[int]) -> str:
    """The cursor behind a session that has these values of an order's keys."""
    text = json.dumps([sort, *values], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decoded(after: str, sort: str, count: int) -> list[int]:
    """The `count` values in a cursor of that order; raises `BadCursor`."""
    try:
        data = base64.urlsafe_b64decode(after.encode("ascii") + b"=" * (-len(after) % 4))
        said, *values = json.loads(data)
        numbers = [value for value in values if type(value) is int and 0 <= value < 2**63]
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise BadCursor("after is not what an earlier page gave as next") from None
    if said != sort or not len(values) == len(numbers) == count:
        raise BadCursor("after is not what an earlier page gave as next in this order")
    return numbers

"""The orders of the list, and the cursor that says where its next page begins."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence

from webapp.store.index import bit_sliced_index
from webapp.store.index.bit_sliced_index import Bits, Planes
from webapp.store.index.state import State

_KEYS = {
    "failing": ("some failed", "when", "id"),
    "time": ("when", "id"),
    "failures": ("failed", "when", "id"),
    "length": ("responses", "when", "id"),
    "match": ("id",),
}
"""most important first; all of them descend, and the last says which of two otherwise equal sessions comes first"""


class BadCursor(ValueError):
    """`after` is not what a page gave as `next`."""


def first(state: State, sort: str, view: Bits, after: str | None, limit: int) -> tuple[list[int], str | None]:
    """The slots of the next page in order, and the cursor behind it, None on the last. Raises `BadCursor`."""
    planes = _planes(state, sort)
    if after is not None:
        view, _ = bit_sliced_index.behind(planes, decoded(after, sort, len(planes)), view)
    slots = list(bit_sliced_index.highest(planes, limit + 1, view))
    slots.sort(key=lambda slot: keys_of(state, sort, slot), reverse=True)
    more = len(slots) > limit
    return slots[:limit], encoded(sort, keys_of(state, sort, slots[limit - 1])) if more else None


def key_count(sort: str) -> int:
    """How many numbers a cursor of the order `sort` holds; the last is the session's id."""
    return len(_KEYS[sort])


def beside(state: State, sort: str, view: Bits, slot: int, forward: bool) -> int | None:
    """The slot in `view` that comes next behind `slot` in the order, or next before it; None at the ends."""
    planes = _planes(state, sort)
    below, same = bit_sliced_index.behind(planes, keys_of(state, sort, slot), view)
    if forward:
        return next(iter(bit_sliced_index.highest(planes, 1, below)), None)
    above = view - below - same
    turned = [tuple(above - plane for plane in key) for key in planes]
    return next(iter(bit_sliced_index.highest(turned, 1, above)), None)


def _planes(state: State, sort: str) -> list[Planes]:
    numbers = state.numbers
    return [(numbers["failed"].positive,) if key == "some failed" else numbers[key].planes for key in _KEYS[sort]]


def keys_of(state: State, sort: str, slot: int) -> list[int]:
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
        sort_order, *values = json.loads(data)
        numbers = [value for value in values if type(value) is int and 0 <= value < 2**63]
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise BadCursor("after is not what an earlier page gave as next") from None
    if sort_order != sort or not len(values) == len(numbers) == count:
        raise BadCursor("after is not what an earlier page gave as next in this order")
    return numbers

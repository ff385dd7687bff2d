"""The numbers of a session that the list shows, sorts and filters by, each defined here alone; the list's orders, and
the cursor that says where its next page begins.

One more number is: a column of `Session` that the fold counts, its place in `SessionLine`, a line of `NUMBERS`, and
where it has a filter a field of `Filters`. Page, API, command options and cursors follow.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db import ids
from webapp.store.db.ids import microseconds
from webapp.store.models import Session


@dataclass(frozen=True, slots=True)
class Number:
    """`name` is the API's, and `things` says what it counts.

    One with a `title` is a column of the page (a `wide` one where there is room), with a `sort` an order, most first,
    and `more_than` names the filter that asks for more than so many.
    """

    name: str
    column: orm.InstrumentedAttribute[int]
    things: str
    title: str = ""
    wide: bool = False
    sort: str = ""
    more_than: str = ""


NUMBERS = (
    Number("turns", Session.turn_count, "turns"),
    Number("responses", Session.response_count, "responses", title="Responses", wide=True, sort="length"),
    Number("failed", Session.failed_count, "failures", title="Failed", sort="failures", more_than="failures"),
    Number("rescued", Session.rescued_count, "failures that Fencepost can read"),
    Number("labelled", Session.label_count, "labels"),
    Number("bytes", Session.raw_bytes, "bytes"),
)
SHOWN = tuple(sorted((number for number in NUMBERS if number.title), key=lambda number: number.wide))
"""in the order of the page's columns"""
MORE_THAN = {number.more_than: number for number in NUMBERS if number.more_than}


KEYS: dict[str, tuple[Any, ...]] = {
    "failing": (Session.failed, Session.happened_at, Session.id),
    "time": (Session.happened_at, Session.id),
    "match": (Session.id,),
    **{number.sort: (number.column, Session.happened_at, Session.id) for number in NUMBERS if number.sort},
}
"""most important first; all of them descend, and the last says which of two otherwise equal sessions comes first"""


class BadCursor(ValueError):
    """`after` is not what a page gave as `next`."""


def moment(number: int) -> datetime:
    """The time that a cursor means. Raises `BadCursor` where there is none."""
    try:
        return ids.moment(number)
    except OverflowError:
        raise BadCursor("after is not what an earlier page gave as next") from None


def behind(sort: str, values: Sequence[int], *, forward: bool = True) -> sa.ColumnElement[bool]:
    """Whether a session comes behind the one that has these values of the order's keys, or before it."""
    keys = KEYS[sort]
    bound = sa.tuple_(*(sa.literal(_of_number(key, value), key.type) for key, value in zip(keys, values, strict=True)))
    is_behind: sa.ColumnElement[bool] = sa.tuple_(*keys) < bound if forward else sa.tuple_(*keys) > bound
    return is_behind


def by(sort: str, *, forward: bool = True) -> list[Any]:
    """What to order by."""
    return [key.desc() if forward else key.asc() for key in KEYS[sort]]


def cursor(sort: str, row: Any) -> str:
    """The cursor behind a row that has the order's keys."""
    return encoded(sort, values_of(sort, row))


def values_of(sort: str, row: Any) -> list[int]:
    """The values of an order's keys that a session, or a row of it, has."""
    values = (getattr(row, key.key) for key in KEYS[sort])
    return [microseconds(value) if isinstance(value, datetime) else int(value) for value in values]


def _of_number(key: Any, value: int) -> Any:
    if isinstance(key.type, sa.Boolean):
        return bool(value)
    return value if isinstance(key.type, sa.Integer) else moment(value)


def position(sort: str, after: str | None) -> list[int] | None:
    """Where a cursor of that order stands; None at the beginning. Raises `BadCursor`."""
    return None if after is None else decoded(after, sort, len(KEYS[sort]))


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

"""The numbers of a session that the list shows, sorts and filters by, each defined here alone.

One more is: a column of `Session` that the fold counts, its place in `SessionLine`, a line here, and where it has a
filter a field of `Filters`. Page, API, command options and cursors follow.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import orm

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

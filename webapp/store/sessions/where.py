"""The one place where filters become SQL: a condition on `Session` for each of them, and what they leave in view.

The sessions that ship with Fencepost are listed while there are no others, then only where somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import installation
from webapp.store.db.dialect import unindexed
from webapp.store.db.ids import short
from webapp.store.models import (
    TURNS_A_SESSION,
    Dump,
    DumpSession,
    FacetValue,
    Label,
    Session,
    SessionFacet,
)
from webapp.store.sessions.filters import LABELS, MORE_THAN, NARROWING, Filters, Number
from webapp.store.write.parser import UNKNOWN

_HASHES = [sha256(path.read_bytes()).hexdigest() for path in sorted(installation.resource("examples").glob("*.json*"))]
_dumps = sa.select(Dump.id).where(Dump.sha256.in_(_HASHES))
_another = orm.aliased(Session)
are_alone: sa.ColumnElement[bool] = ~sa.exists(
    sa.select(_another.id).where(
        _another.deleted_at.is_(None), sa.or_(_another.dump_id.is_(None), _another.dump_id.not_in(_dumps))
    )
)
"""whether nothing but examples is stored"""
is_example: sa.ColumnElement[bool] = sa.and_(Session.dump_id.is_not(None), Session.dump_id.in_(_dumps))
listed: sa.ColumnElement[bool] = sa.and_(Session.deleted_at.is_(None), sa.or_(~is_example, are_alone))
"""whether a session stands in lists, charts, queues and questions"""


deleted = sa.select(Session.id).where(Session.deleted_at.is_not(None))
"""the numbers of deleted sessions"""
hidden = sa.union_all(deleted, sa.select(Session.id).where(is_example, ~are_alone))
"""the numbers of the sessions that stand in no list: those that are deleted, and the examples beside others"""


FACETS = (
    *("finding", "verdict", "error", "model", "repair", "strategy", "host", "agent", "phase", "tool", "home", "label"),
    *("service", "format", "contract", "stop"),
)
"""in the order that a page shows them"""
OF_PARSE = ("verdict", "strategy", "repair")
"""facets that are counted by profile"""
Condition = sa.ColumnElement[bool]
_is_known = Session.home_profile != UNKNOWN
_read_by_us = Session.extracted_count + Session.repaired_count
rescued_count = sa.case((_is_known, Session.rescued_count), else_=_read_by_us)
has_rescued: Condition = sa.or_(Session.rescued_count > 0, sa.and_(~_is_known, _read_by_us > 0))


def stored_name(facet: str, under: str) -> str:
    """What `store.write.facets` calls a facet that is looked at under a profile."""
    return f"{facet} {under}" if facet in OF_PARSE else facet


def conditions(
    filters: Filters, *, without: Collection[str] = (), only: Collection[str] = NARROWING
) -> list[Condition]:
    """What must hold of a session in view, where the filters `without` are left out; search is no part of it."""
    chosen = (name for name in only if name not in without)
    start = Session.deleted_at.is_(None) if filters.dump else listed
    return [start, *(part for name in chosen if (part := _condition(filters, name)) is not None)]


def having(name: str, value: str) -> Condition:
    """Whether a session has a value of a name of `session_facet`.

    SQLite is to walk its order and ask each session, not to read all that have the value and sort them.
    """
    number = sa.select(FacetValue.id).where(FacetValue.name == name, FacetValue.value == value).scalar_subquery()
    return unindexed(Session.id).in_(sa.select(SessionFacet.session_id).where(SessionFacet.value_id == number))


def _condition(filters: Filters, name: str) -> Condition | None:
    value = getattr(filters, name)
    if value is None or value is False:
        return None
    if name in _COLUMNS:
        return _COLUMNS[name](filters)
    return having(stored_name(name, filters.under), value)


def _label(filters: Filters) -> Condition:
    if filters.label in LABELS[:2]:
        return Session.label_count > 0 if filters.label == LABELS[0] else Session.label_count == 0
    judged = sa.select(Label.turn_id // TURNS_A_SESSION).where(Label.judgement == filters.label)
    return unindexed(Session.id).in_(judged)


def id_of(text: str) -> sa.Select[int]:
    """The number of the dump with that sha256 or number."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else -1
    return sa.select(Dump.id).where(sa.or_(Dump.sha256 == short(text, 65), Dump.id == number)).limit(1)


def _dump(filters: Filters) -> Condition:
    dump_id = id_of(filters.dump or "").scalar_subquery()
    of_dump = sa.select(DumpSession.session_id).where(DumpSession.dump_id == dump_id)
    return unindexed(Session.id).in_(of_dump)


def _more_than(number: Number) -> Callable[[Filters], Condition]:
    return lambda filters: number.column > getattr(filters, number.more_than)


_COLUMNS: dict[str, Callable[[Filters], Condition]] = {
    "failed": lambda _: Session.failed.is_(sa.true()),
    "rescued": lambda _: has_rescued,
    "since": lambda filters: Session.happened_at >= filters.span()[0],
    "until": lambda filters: Session.happened_at < filters.span()[1],
    "label": _label,
    "dump": _dump,
    **{name: _more_than(number) for name, number in MORE_THAN.items()},
}
"""filters that a column or another table answers; the others are values of `session_facet`"""


@dataclass(frozen=True, slots=True)
class View:
    """Filters, and the sessions that hold what is searched for: `matching`, None where nothing is.

    With `open_ended` these are the newest of more. The filters `may_hold` are those of a response that another session
    may hold, too: of sessions they do not ask.
    """

    filters: Filters
    matching: tuple[int, ...] | None = None
    open_ended: bool = False
    may_hold: frozenset[str] = frozenset()

    @property
    def order(self) -> str:
        """The order in which the sessions stand, of `filters.KEYS`."""
        return "match" if self.filters.searches else self.filters.sort

    def where(self, *without: str) -> list[Condition]:
        """What holds of a session in view; the filters `without` are left out."""
        matching = [] if self.matching is None else [Session.id.in_(self.matching)]
        return [*conditions(self.filters, without={*without, *self.may_hold}), *matching]

    def only(self, name: str) -> list[Condition]:
        """What one filter asks for; nothing where it is not set."""
        return conditions(self.filters, only=(name,))[1:]

    def ids(self, *without: str) -> sa.Select[Any]:
        """The numbers of the sessions in view."""
        return sa.select(Session.id).where(*self.where(*without))

    def is_narrowed(self, *without: str) -> bool:
        """Whether anything but deletion keeps a session out of view."""
        left_out = {*without, *self.may_hold}
        set_ones = {name for name in NARROWING if getattr(self.filters, name) not in (None, False)}
        return self.matching is not None or bool(set_ones - left_out)

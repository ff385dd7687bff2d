"""Reads sessions for the index: all of them, or those that changed since it last looked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp import jsontext
from webapp.store.models import TURNS_A_SESSION, Label, Session, turns_of_any

_AT_ONCE = 256
_DECODED_AT_ONCE = 500
"""as one text, whose names are then made once"""
_FIRST = datetime(1, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_session = Session.__table__.c
_COUNTS = (
    *("failed_count", "rescued_count", "response_count", "turn_count", "raw_bytes", "label_count"),
    *("clean_count", "extracted_count", "repaired_count", "unparsed_count", "none_count"),
)
_columns = (
    *(_session.id, _session.changed, sa.type_coerce(_session.facets, sa.LargeBinary())),
    *(_session.home_profile, _session.home_source, _session.source_format, _session.service, _session.happened_at),
    *(_session[name] for name in _COUNTS),
)
"""in the order of `Row`, but for its judgements"""


class Row(NamedTuple):
    """What the index keeps of one session; `when` as `microseconds` has it."""

    id: int
    changed: int
    facets: dict[str, Any]
    home: str
    home_source: str
    format: str
    service: str | None
    when: int
    failed: int
    rescued: int
    responses: int
    turns: int
    bytes: int
    labelled: int
    clean: int
    extracted: int
    repaired: int
    unparsed: int
    none: int
    judgements: frozenset[str]


def microseconds(when: datetime) -> int:
    """Since the year 1, so that no time is negative."""
    return (when - _FIRST) // _MICROSECOND


def moment(number: int) -> datetime:
    """The time that is so many microseconds after the year 1."""
    return _FIRST + timedelta(microseconds=number)


def everything(connection: sa.Connection) -> Iterator[Row]:
    """Every session that is not deleted, in the order of their ids."""
    query = sa.select(*_columns).where(_session.deleted_at.is_(None)).order_by(_session.id)
    judgements = _judgements(connection, sa.true())
    yield from _rows(connection, query, judgements)


def changed(connection: sa.Connection, horizon: int) -> list[tuple[int, int]]:
    """The id and the `changed` of each session that was written since, in the order of `changed`, which has an index:
    in the order of ids SQLite would go through all sessions."""
    query = sa.select(_session.id, _session.changed).where(_session.changed >= horizon).order_by(_session.changed)
    return [(row.id, row.changed) for row in connection.execute(query)]


def ids(connection: sa.Connection) -> set[int]:
    """The ids of all sessions that are not deleted."""
    hidden = set(connection.scalars(sa.select(_session.id).where(_session.deleted_at.is_not(None))))
    return set(connection.scalars(sa.select(_session.id))) - hidden


def check_sum(connection: sa.Connection) -> tuple[int, int]:
    """How many sessions are not deleted, and the sum of their `changed`; from indexes alone."""
    query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(_session.changed), 0))
    every = connection.execute(query).one()
    hidden = connection.execute(query.where(_session.deleted_at.is_not(None))).one()
    return every[0] - hidden[0], int(every[1]) - int(hidden[1])


def some(connection: sa.Connection, ids: Iterable[int]) -> Iterator[Row]:
    """Those of the sessions that are there and not deleted, in the order of their ids."""
    in_order = sorted(ids)
    for at in range(0, len(in_order), _AT_ONCE):
        part = in_order[at : at + _AT_ONCE]
        query = sa.select(*_columns).where(_session.id.in_(part), _session.deleted_at.is_(None)).order_by(_session.id)
        yield from _rows(connection, query, _judgements(connection, turns_of_any(Label.turn_id, part)))


def _rows(connection: sa.Connection, query: Any, judgements: dict[int, frozenset[str]]) -> Iterator[Row]:
    none: frozenset[str] = frozenset()
    for rows in connection.execute(query.execution_options(yield_per=_DECODED_AT_ONCE)).partitions():
        together = jsontext.loads(b"[" + b",".join(bytes(row[2] or b"{}") for row in rows) + b"]")
        for row, facets in zip(rows, together, strict=True):
            number, changed, _, home, source, form, service, happened_at, *counts = row
            when = microseconds(happened_at)
            about = (number, changed, facets, home, source, form, service, when)
            yield Row._make((*about, *counts, judgements.get(number, none)))


def _judgements(connection: sa.Connection, where: sa.ColumnElement[bool]) -> dict[int, frozenset[str]]:
    judgements: dict[int, set[str]] = defaultdict(set)
    for turn_id, judgement in connection.execute(sa.select(Label.turn_id, Label.judgement).where(where)):
        judgements[turn_id // TURNS_A_SESSION].add(judgement)
    return {number: frozenset(values) for number, values in judgements.items()}

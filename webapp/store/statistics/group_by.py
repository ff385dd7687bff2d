"""Responses in view counted by one thing that each of them has: how many, how many failed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.time_limit import TookTooLong, within
from webapp.store.failures.rates import Rate, rate
from webapp.store.failures.spent import Spent, of_row, summed
from webapp.store.models import Session, Turn, TurnContract
from webapp.store.sessions import response_query, responses
from webapp.store.sessions.filters import HOME, Filters

LIMIT = 5.0
"""seconds"""
MOST = 200
_contract = sa.select(TurnContract.state).where(TurnContract.turn_id == Turn.id).scalar_subquery()
_sent = sa.func.coalesce(Turn.sent_at, Session.happened_at)
BY: dict[str, tuple[str, Any]] = {
    "model": ("Model", Turn.model),
    "host": ("Host", Turn.host),
    "tool": ("Tool", sa.case((Turn.kind == "tool_call", Turn.agent))),
    "contract": ("Contract", sa.func.coalesce(_contract, "not_declared")),
    "stop": ("Stop", Turn.stop),
    "strategy": ("Strategy that won", response_query.under.strategy),
    "day": ("Day", sa.cast(sa.func.date(_sent), sa.String)),
}
"""title and column of what responses can be grouped by"""
_FILTERED = {name: (name,) for name in ("model", "host", "tool", "contract", "strategy")} | {"day": ("since", "until")}
"""the filters that lead to what has a value"""


@dataclass(frozen=True, slots=True)
class ResponseGroup:
    """`failed` of all that have the value; `value` None stands for those without one; `filters` lead to them, None
    where no filter does. `microseconds` is the mean of their parses under the profile, None where none was run."""

    value: str | None
    failed: Rate
    filters: Filters | None
    microseconds: float | None
    spent: Spent
    """what the failed ones cost"""


class NotGrouped(ValueError):
    """These filters are held against each response one by one, or there are too many; the message says so."""


def groups(db: orm.Session, filters: Filters, by: str) -> list[ResponseGroup]:
    """The largest first, days the newest first; at most 200. Raises `NotGrouped`."""
    query, tests = response_query.query(db, filters)
    if tests:
        raise NotGrouped("responses are not grouped under a search, a tool, an error or a finding")
    column = BY[by][1].label("value")
    failed = sa.func.sum(sa.case((response_query.failed(), 1), else_=0)).label("failed")
    view = responses.view_of(db, filters)
    took = sa.func.avg(response_query.under.microseconds).label("took")
    spent = summed(HOME, Turn, response_query.failed())
    query = query.with_only_columns(column, sa.func.count().label("of"), failed, took, *spent)
    query = query.where(*view.where()).group_by(sa.literal_column("1"))
    order: Any = sa.desc("value" if by == "day" else "of")
    try:
        with within(db.connection(), LIMIT):
            rows = db.execute(query.order_by(order).limit(MOST)).all()
    except TookTooLong:
        raise NotGrouped(f"counting took longer than {LIMIT:g} seconds: a filter makes it quicker") from None
    return [_group(filters, by, row) for row in rows]


def _group(filters: Filters, by: str, row: Any) -> ResponseGroup:
    name = None if row.value is None else str(row.value)
    changes: dict[str, Any] = dict.fromkeys(_FILTERED.get(by, ()), name)
    narrowed = replace(filters, **changes) if name is not None and changes else None
    took = None if row.took is None else float(row.took)
    return ResponseGroup(name, rate(name or "", row.failed, row.of), narrowed, took, of_row(row))

"""Responses counted by one thing that each of them has: how many failed, and what those cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts.contract import STATES
from webapp.dumps.messages.metadata import NOT_IN_LOG
from webapp.store.db.dialect import TookTooLong, within
from webapp.store.failures.group import COLUMNS, NAMES, Spent
from webapp.store.models import FailedResponse, Finding, Session, Turn, TurnContract
from webapp.store.rates import Rate, rate, share
from webapp.store.sessions import facets, response_query, responses
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.sessions.where import View, stored_name
from webapp.store.write.tally import NOT_RUN

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
    "stop": ("Stop", sa.func.coalesce(Turn.stop, NOT_IN_LOG)),
    "strategy": ("Strategy that won", response_query.under.strategy),
    "day": ("Day", sa.cast(sa.func.date(_sent), sa.String)),
}
"""title and column of what responses can be grouped by"""
_FILTERED = {name: (name,) for name in BY} | {"day": ("since", "until")}
"""the filters that lead to what has a value"""
_at_home = sa.and_(
    FailedResponse.under == HOME,
    FailedResponse.session_id == Turn.session_id,
    FailedResponse.turn_id == Turn.id,
)
_is_failed = sa.or_(FailedResponse.turn_id.is_not(None), Turn.recorded_failure.is_not(None))
"""whether a response failed in production: one without a text is in no failure group"""


def _summed() -> Iterator[sa.ColumnElement[Any]]:
    """What failed responses cost, the columns of `Spent`, of a query that groups responses."""
    for column in COLUMNS:
        failed = sa.case((_is_failed, getattr(Turn, column.key, column)))
        yield sa.cast(sa.func.sum(failed), sa.Double).label(column.key)
        yield sa.func.count(failed).label(f"{column.key}_said")


class NotGrouped(ValueError):
    """These filters are held against each response one by one, or there are too many; the message says so."""


def groups(db: orm.Session, filters: Filters, by: str) -> list[dict[str, Any]]:
    """The largest first, days the newest first; at most 200. Raises `NotGrouped`.

    `failed` of the `responses` that have the value, without those `not_run`; `value` None stands for those without
    one; `filters` lead to them, None where no filter does. `microseconds` is the mean of their parses under the
    profile, asked by strategy alone, None where none was run, and `spent` what the failed ones cost.
    """
    is_by_parse = by == "strategy"
    query, tests = response_query.query(db, filters, parsed=is_by_parse)
    if tests:
        raise NotGrouped("responses are not grouped under a search, a tool, an error or a finding")
    column = BY[by][1].label("value")
    failed = sa.func.count(sa.case((_is_failed, 1))).label("failed")
    view = responses.view_of(db, filters)
    is_any = facets.total(db, view.ids(), [stored_name("verdict", HOME)], NOT_RUN)
    not_run = sa.func.count(sa.case((response_query.not_run() if is_any else sa.false(), 1))).label("not_run")
    took = (sa.func.avg(response_query.under.microseconds) if is_by_parse else sa.null()).label("took")
    query = query.with_only_columns(column, sa.func.count().label("of"), not_run, failed, took, *_summed())
    query = query.outerjoin(FailedResponse, _at_home).where(*view.where())
    query = query.group_by(sa.literal_column("1"))
    order: Any = (sa.desc("value"),) if by == "day" else (sa.desc("of"), sa.asc("value").nulls_last())
    try:
        with within(db.connection(), LIMIT):
            rows = db.execute(query.order_by(*order).limit(MOST)).all()
    except TookTooLong:
        raise NotGrouped(f"counting took longer than {LIMIT:g} seconds: a filter makes it quicker") from None
    return [_group(filters, by, row) for row in rows]


def _group(filters: Filters, by: str, row: Any) -> dict[str, Any]:
    name = None if row.value is None else str(row.value)
    changes: dict[str, Any] = dict.fromkeys(_FILTERED[by], name)
    narrowed = None if name is None else replace(filters, **changes)
    took = None if row.took is None else float(row.took)
    failed = rate(name or "", row.failed, row.of - row.not_run)
    spent: Spent = {name: getattr(row, name) for column in NAMES for name in (column, f"{column}_said")}
    about = {"value": name, "failed": failed, "responses": row.of, "not_run": row.not_run, "filters": narrowed}
    return about | {"microseconds": took, "spent": spent}


HELD = "held"
"""the name in `session_facet`: `model␟host␟state`, counted in calls"""
SEPARATOR = "\x1f"
_MOST = 50


def card(db: orm.Session, view: View) -> tuple[list[dict[str, Any]], int]:
    """The 50 models and hosts in view with most calls, and how many others there are.

    `kept` is the share of the calls that could be held; the two conventions are of all calls: those that nothing was
    declared of, or that were not checked, count as valid, or as failed.
    """
    tallies: dict[tuple[str, str], dict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for session_id, value, count in facets.of_sessions(db, view.ids(), HELD):
        model, host, state = [*value.split(SEPARATOR), "", ""][:3]
        if state in STATES:
            tallies[model, host][session_id][state] += count
    lines = [_line(*names, list(sessions.values()), view.filters) for names, sessions in tallies.items()]
    lines.sort(key=lambda line: (-line["calls"], line["model"], line["host"]))
    return lines[:_MOST], max(0, len(lines) - _MOST)


def _line(model: str, host: str, sessions: list[Counter[str]], filters: Filters) -> dict[str, Any]:
    states = sum(sessions, Counter[str]())
    silent = [session["not_declared"] + session["not_checked"] for session in sessions]
    calls = [session.total() for session in sessions]
    kept_counts = [session["kept"] for session in sessions]
    return {
        "model": model,
        "host": host,
        "sessions": len(sessions),
        "calls": sum(calls),
        "states": {state: states[state] for state in STATES},
        "kept": share((k, n - s) for k, n, s in zip(kept_counts, calls, silent, strict=True)),
        "as_valid": share((k + s, n) for k, n, s in zip(kept_counts, calls, silent, strict=True)),
        "as_failed": share(zip(kept_counts, calls, strict=True)),
        "filters": replace(filters, model=model or None, host=host or None),
    }


ZOMBIE_LIMIT = 1.0
"""seconds"""
MOST_MODELS = 200
_who = sa.func.coalesce(Turn.agent, Turn.model)


def zombies(db: orm.Session, view: View) -> list[tuple[str, int, Rate]]:
    """Model, round, and how many of its answers in that round made it a zombie; empty where none did.

    The rates are over all answers in view; without `of` where counting these took longer than a second.
    """
    query = sa.select(Finding.detail).join(Session, Session.id == Finding.session_id)
    details = db.scalars(query.where(Finding.rule == "zombie_model", *view.where()))
    left_out = Counter((str(detail["model"]), int(detail["round"])) for detail in details)
    of = _answers(db, view) if left_out else {}
    keys = sorted(left_out, key=lambda key: (-left_out[key], key))[:MOST_MODELS]
    return [(model, number, rate(model, left_out[model, number], of.get((model, number)))) for model, number in keys]


def _answers(db: orm.Session, view: View) -> dict[tuple[str, int], int]:
    query = sa.select(_who.label("who"), Turn.round, sa.func.count().label("of"))
    query = query.join(Session, Session.id == Turn.session_id).where(*view.where())
    query = query.where(Turn.kind == "response", Turn.duplicate_of.is_(None), Turn.round.is_not(None))
    try:
        with within(db.connection(), ZOMBIE_LIMIT):
            return {(row.who, row.round): row.of for row in db.execute(query.group_by(_who, Turn.round))}
    except TookTooLong:
        return {}

"""Responses counted by one thing that each of them has, their shares with intervals over sessions, and signs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import erfc, exp, log, sqrt
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts.contract import STATES
from webapp.dumps.messages.metadata import NOT_IN_LOG
from webapp.store.db.dialect import TookTooLong, within
from webapp.store.failures.group_line import COLUMNS, NAMES, Rate, Spent, Z, rate, wilson
from webapp.store.models import FailedResponse, Finding, Session, Turn, TurnContract
from webapp.store.sessions import facets, response_query, responses
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.sessions.where import View, stored_name
from webapp.store.write.parser import UNKNOWN
from webapp.store.write.tally import NOT_RUN

_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t for 95 %, by degrees of freedom from 1"""
Cluster = tuple[int, int]
"""of one session, how many calls or responses count, of how many"""
_EXACT = 400
"""sessions and differences up to which all signs are counted: 0.1 s at most"""


@dataclass(frozen=True, slots=True)
class SignTest:
    """Of the responses that differ, `first` favour one side and `second` the other, in `sessions` sessions. `p` is
    two-sided: how probable a difference as large or larger is, were it as probable the other way round in each session;
    None where nothing differs."""

    first: int
    second: int
    sessions: int
    p: float | None
    share: Rate


def sign_test(by_session: Iterable[Cluster]) -> SignTest:
    """The test of the numbers of responses, (for the first side, for the second) of each session."""
    pairs = [(first, second) for first, second in by_session if first or second]
    first, second = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    p = flipped([here - after for here, after in pairs]) if pairs else None
    return SignTest(first, second, len(pairs), p, share((here, here + after) for here, after in pairs))


def flipped(differences: list[int]) -> float:
    """How probable a sum as far from 0 is where the sign of each difference is a coin's: all signs are counted; of many
    sessions or large differences the normal distribution that they come close to is taken, with continuity."""
    total, sizes = abs(sum(differences)), [abs(size) for size in differences if size]
    if not sizes:
        return 1.0
    if len(sizes) > _EXACT or sum(sizes) > 10 * _EXACT:
        return erfc(max(0.0, total - 1) / sqrt(2 * sum(size * size for size in sizes)))
    odds = {0: 1.0}
    for size in sizes:
        following: dict[int, float] = defaultdict(float)
        for at, odd in odds.items():
            following[at + size] += odd / 2
            following[at - size] += odd / 2
        odds = following
    return min(1.0, sum(odd for at, odd in odds.items() if abs(at) >= total))


def share(clusters: Iterable[Cluster]) -> Rate:
    """A share with its interval over sessions, if two or more say so: responses of one are no independent trials.

    The variance is the jackknife's, which leaves out a session at a time; on the scale of the logit, with Student's t,
    so that the interval stays within 0 and 1. Where it leaves none, as where all count, it is Wilson's
    interval of as many trials as there are sessions.
    """
    pairs = [pair for pair in clusters if pair[1]]
    count, of, sessions = sum(k for k, _ in pairs), sum(n for _, n in pairs), len(pairs)
    if sessions < 2:
        return Rate("", count, of, None, None)
    rate = count / of
    variance = (sessions - 1) / sessions * sum(((count - k) / (of - n) - rate) ** 2 for k, n in pairs)
    if variance == 0 or rate in (0, 1):
        low, high = wilson(round(rate * sessions), sessions)
        return Rate("", count, of, min(low, rate), max(high, rate))
    half = _student(sessions - 1) * sqrt(variance) / (rate * (1 - rate))
    middle = log(rate / (1 - rate))
    return Rate("", count, of, _logistic(middle - half), _logistic(middle + half))


def _logistic(value: float) -> float:
    return 1 / (1 + exp(-value)) if value > -700 else 0.0


def _student(freedom: int) -> float:
    """Student's t for 95 %, by Cornish and Fisher's expansion where the table ends."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    return Z + (Z**3 + Z) / (4 * freedom) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)


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
    """What failed responses cost as columns of a query that groups responses."""
    for column in COLUMNS:
        failed = sa.case((_is_failed, getattr(Turn, column.key, column)))
        yield sa.func.sum(failed).label(column.key)
        yield sa.func.count(failed).label(f"{column.key}_said")


def _spent_of(row: Any) -> Spent:
    """What `_summed` made of a group."""
    spent: Spent = {f"{name}_said": getattr(row, f"{name}_said") for name in NAMES}
    for name in NAMES:
        value = getattr(row, name)
        plain = int if name.startswith("tokens") else float
        spent[name] = None if value is None else plain(value)
    return spent


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
    changes: dict[str, Any] = dict.fromkeys(_FILTERED.get(by, ()), name)
    narrowed = replace(filters, **changes) if name is not None and changes else None
    took = None if row.took is None else float(row.took)
    failed = rate(name or "", row.failed, row.of - row.not_run)
    about = {"value": name, "failed": failed, "responses": row.of, "not_run": row.not_run, "filters": narrowed}
    return about | {"microseconds": took, "spent": _spent_of(row)}


def assumed(db: orm.Session, view: View) -> int:
    """How many responses in view are read as `json.loads`, since nobody named their parser."""
    if view.filters.under != HOME:
        return 0
    unknown = sa.select(Session.id).where(Session.home_profile == UNKNOWN, *view.where())
    return facets.total(db, unknown, ["asked"], None)


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

"""The query for responses under filters: each filter holds for the one response, not just somewhere in its session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts.contract import BROKEN, MISFITS
from webapp.dumps.messages.metadata import NOT_IN_LOG
from webapp.parsing import Trace
from webapp.store import search
from webapp.store.models import (
    MODEL_KINDS,
    Finding,
    Label,
    Parse,
    Session,
    Turn,
    TurnContract,
    contract_state,
    has_failed,
    has_mark,
)
from webapp.store.sessions.facets import of_sessions
from webapp.store.sessions.filters import HOME, LABELS, Filters
from webapp.store.sessions.where import OF_PARSE, having, stored_name
from webapp.store.write import facets
from webapp.store.write.parser import UNKNOWN
from webapp.store.write.stored_turns import home_parse, join_parses, our_parse
from webapp.store.write.tally import BROKEN_AS_ONE, NOT_RUN, READABLE

OF_RESPONSE = (
    *("failed", "rescued", "verdict", "strategy", "repair", "error", "model", "host", "agent", "phase", "tool"),
    *("finding", "label", "contract", "stop", "q"),
)
"""Filters that hold for the one response; the others are of its session."""
_A_SEARCH = 5_000
home, ours, under, _at_home = home_parse, our_parse, orm.aliased(Parse), orm.aliased(Parse)
Row = Any
Test = Callable[[Sequence[Row]], list[Row]]


def failed() -> sa.ColumnElement[bool]:
    """Whether a response failed in production: under its home profile, by its contract, or its dump."""
    verdict = read_verdict(HOME, home)
    return sa.or_(has_failed(Turn), sa.func.coalesce(verdict == "failed", sa.false()))


def read_verdict(profile: str, parse: Any = under) -> sa.ColumnElement[str]:
    """The verdict of `profile`; at home `NOT_RUN` is one, and that of `json.loads` stands for an unknown one, by what
    `fencepost` made of it."""
    if profile != HOME:
        return sa.type_coerce(parse.verdict, sa.String())
    as_json = sa.case((ours.verdict.in_(("extracted", "repaired")), "failed"), else_=ours.verdict)
    is_parsed = parse.verdict.is_not(None)
    return sa.case((Session.home_profile == UNKNOWN, as_json), (is_parsed, parse.verdict), (not_run(), NOT_RUN))


def not_run() -> sa.ColumnElement[bool]:
    """Whether nobody knows if a response failed, since its home profile could not be started, or is gone."""
    may_be = having(stored_name("verdict", HOME), NOT_RUN)
    is_parsed = sa.exists().where(_at_home.turn_id == Turn.id, _at_home.profile == Session.home_profile)
    return sa.and_(may_be, Turn.raw.is_not(None), ~is_parsed, ~has_failed(Turn))


def query(db: orm.Session, filters: Filters, *, parsed: bool = False) -> tuple[Any, list[Test]]:
    """A select of (turn_id, session_id, position …) of the responses that the filters leave, narrowed to no session
    yet, and what must still be asked of its rows, in order, since no column says it. It has their parses where a filter
    asks for them, or `parsed` does."""
    columns: list[Any] = [Turn.id.label("turn_id"), Turn.session_id, Turn.position]
    tests: list[Test] = []
    if filters.error is not None:
        columns += [Turn.recorded_failure, home.verdict.label("home_verdict")]
        columns.append(sa.case((home.verdict == "failed", home.trace)).label("trace"))
        tests.append(lambda rows: _with_error(db, rows, filters.error or ""))
    if filters.tool is not None:
        columns += [Turn.kind, Turn.agent, Turn.tool_calls]
        tests.append(lambda rows: [row for row in rows if filters.tool in facets.tools_of(row)])
    if filters.finding is not None:
        tests.append(lambda rows: _with_finding(db, rows, filters.finding or ""))
    if filters.q and filters.q.strip():
        tests.append(lambda rows: _with_text(db, rows, filters.q or ""))
    counts = (Turn.kind.in_(MODEL_KINDS), Turn.duplicate_of.is_(None), has_mark(Turn))
    select = _with_session(sa.select(*columns)).where(*counts, *conditions(filters))
    return (_with_parses(select, filters.under) if parsed or _asks_parses(filters) else select), tests


def _asks_parses(filters: Filters) -> bool:
    return any(getattr(filters, name) for name in ("failed", "rescued", "error", *OF_PARSE))


def joined(select: Any, profile: str) -> Any:
    """A select from responses with their session and their parses under the home profile, ours, and `profile`."""
    return _with_parses(_with_session(select), profile)


def _with_session(select: Any) -> Any:
    return select.select_from(Turn).join(Session, Session.id == Turn.session_id)


def _with_parses(select: Any, profile: str) -> Any:
    select = join_parses(select, Session.home_profile)
    name = Session.home_profile if profile == HOME else sa.literal(profile)
    return select.outerjoin(under, sa.and_(under.turn_id == Turn.id, under.profile == name))


def conditions(filters: Filters) -> Iterable[sa.ColumnElement[bool]]:
    """Those of the filters that a column answers."""
    if filters.failed or filters.rescued:
        yield failed()
    if filters.rescued:
        yield sa.and_(ours.verdict.in_(READABLE), sa.func.coalesce(contract_state(Turn), "").not_in(MISFITS))
    equal = {read_verdict(filters.under): filters.verdict, under.strategy: filters.strategy}
    equal |= {Turn.host: filters.host, Turn.model: filters.model, Turn.agent: filters.agent, Turn.phase: filters.phase}
    yield from (column == value for column, value in equal.items() if value is not None)
    if filters.repair is not None:
        yield under.repairs.contains(f",{filters.repair},", autoescape=True)
    if filters.contract is not None:
        yield _has_contract(filters.contract)
    if filters.stop is not None:
        yield Turn.stop.is_(None) if filters.stop == NOT_IN_LOG else Turn.stop == filters.stop
    if filters.label is not None:
        labelled = sa.exists().where(Label.turn_id == Turn.id)
        if filters.label not in LABELS[:2]:
            labelled = labelled.where(Label.judgement == filters.label)
        yield ~labelled if filters.label == "unlabelled" else labelled


def _has_contract(state: str) -> sa.ColumnElement[bool]:
    has_contract = sa.exists().where(TurnContract.turn_id == Turn.id)
    if state == "not_declared":
        return ~has_contract
    states = BROKEN if state == BROKEN_AS_ONE else (state,)
    return has_contract.where(TurnContract.state.in_(states))


def _with_error(db: orm.Session, rows: Sequence[Row], kind: str) -> list[Row]:
    """Those whose recorded failure, or last error of the home profile, is of that kind, or is counted as `OTHER`."""
    if kind != facets.OTHER:
        return [row for row in rows if kind in _errors(row)]
    counted = {pair[:2] for pair in of_sessions(db, {row.session_id for row in rows}, "error")}
    return [
        row
        for row in rows
        if any(error == facets.OTHER or (row.session_id, error) not in counted for error in _errors(row))
    ]


def _errors(row: Row) -> list[str]:
    kinds = [facets.kind_of(row.recorded_failure)] if row.recorded_failure is not None else []
    if row.home_verdict == "failed" and (error := facets.last_error(Trace.from_dict(row.trace))):
        kinds.append(error)
    return kinds


def _with_finding(db: orm.Session, rows: Sequence[Row], rule: str) -> list[Row]:
    ids = {row.session_id for row in rows}
    turns_of_findings: set[tuple[int, int]] = set()
    select = sa.select(Finding.session_id, Finding.turns).where(Finding.rule == rule, Finding.session_id.in_(ids))
    for session_id, positions in db.execute(select):
        turns_of_findings.update((session_id, position) for position in positions)
    return [row for row in rows if (row.session_id, row.position) in turns_of_findings]


def _with_text(db: orm.Session, rows: Sequence[Row], text: str) -> list[Row]:
    """Those where a text stands, in the response itself or in what is noted of it; where it stands in the session's
    id or title, all of them."""
    by_session: dict[int, set[int | None]] = {}
    for session_id in dict.fromkeys(row.session_id for row in rows):
        hits = search.find(db.connection(), text, session_id=session_id, limit=_A_SEARCH)
        by_session[session_id] = {match.turn_id for match in hits.matches} or {None}
    return [row for row in rows if row.turn_id in by_session[row.session_id] or None in by_session[row.session_id]]

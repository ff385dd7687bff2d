"""The list counted by going through all turns, parses and labels in plain Python: what SQL must say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts.contract import BROKEN
from webapp.parsing import Trace
from webapp.store.models import MODEL_KINDS, TURNS_A_SESSION, Finding, Label, Parse, Session, Turn, TurnContract
from webapp.store.sessions import session_list
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.sessions.where import FACETS
from webapp.store.write.facets import digest, kind_of, tools_of

_NAMED = {"agent": Turn.agent, "phase": Turn.phase, "host": Turn.host, "model": Turn.model}


def values(session: Session, facet: str, under: str, judged: dict[int, set[str]]) -> set[str]:
    """The values that a session has of a facet."""
    if facet in ("verdict", "strategy", "repair"):
        return parsed(session, facet, session.home_profile if under == HOME else under)
    if facet in _NAMED:
        return named(session, facet)
    if facet == "tool":
        return {name for turn in turns_of(session) for name in tools_of(turn)}
    if facet == "finding":
        return set(_db(session).scalars(sa.select(Finding.rule).where(Finding.session_id == session.id)))
    if facet == "error":
        return errors(session)
    if facet == "label":
        return judged.get(session.id, set()) | {"labelled" if session.label_count else "unlabelled"}
    if facet == "contract":
        return states(session)
    if facet == "stop":
        return {stop or "not_in_this_log" for stop in _of_responses(session, Turn.stop)}
    value = {"home": session.home_profile, "service": session.service, "format": session.source_format}[facet]
    return set() if value is None else {value}


def turns_of(session: Session) -> list[Turn]:
    query = sa.select(Turn).where(Turn.session_id == session.id, Turn.duplicate_of.is_(None))
    return list(_db(session).scalars(query))


def parses(session: Session, profile: str) -> list[Parse]:
    query = sa.select(Parse).join(Turn, Turn.id == Parse.turn_id)
    return list(_db(session).scalars(query.where(Turn.session_id == session.id, Parse.profile == profile)))


def parsed(session: Session, facet: str, profile: str) -> set[str]:
    """Verdicts, strategies or repairs under a profile; of an unknown one the verdicts of `json.loads`."""
    if profile == "unknown":
        verdicts = {parse.verdict for parse in parses(session, "fencepost")} if facet == "verdict" else set()
        return {verdict if verdict in ("clean", "none") else "failed" for verdict in verdicts}
    found = parses(session, profile)
    if facet == "repair":
        return {name for parse in found for name in (parse.repairs or "").strip(",").split(",") if name}
    return {getattr(parse, facet) for parse in found} - {None}


def named(session: Session, facet: str) -> set[str]:
    """Who takes part: agents that are no tools, and models that wrote something."""
    skipped = ("tool_call", "tool_result") if facet == "agent" else ()
    takes = [turn for turn in turns_of(session) if turn.kind not in skipped]
    if facet == "model":
        takes = [turn for turn in takes if turn.kind in MODEL_KINDS and turn.raw is not None]
    return {getattr(turn, facet) for turn in takes} - {None}


def errors(session: Session) -> set[str]:
    recorded = {kind_of(turn.recorded_failure) for turn in turns_of(session) if turn.recorded_failure is not None}
    traces = (Trace.from_dict(parse.trace) for parse in parses(session, session.home_profile))
    return (recorded | {digest(trace).error for trace in traces}) - {None}  # type: ignore[return-value]


def _db(session: Session) -> orm.Session:
    db = orm.object_session(session)
    assert db is not None
    return db


def states(session: Session) -> set[str]:
    """The states of a session's responses under their contracts."""
    found = {state or "not_declared" for state in _of_responses(session, TurnContract.state)}
    return found | ({"broken"} if found & set(BROKEN) else set())


def _of_responses(session: Session, column: Any) -> Iterable[Any]:
    query = sa.select(column).select_from(Turn).outerjoin(TurnContract, TurnContract.turn_id == Turn.id)
    ours = (Turn.session_id == session.id, Turn.kind.in_(MODEL_KINDS), Turn.duplicate_of.is_(None))
    return _db(session).scalars(query.where(*ours)).all()


def matching(db: orm.Session, filters: Filters, without: str = "") -> list[Session]:
    """The sessions that the filters leave, in the list's order."""
    judged = judgements(db)
    chosen = [name for name in FACETS if getattr(filters, name) is not None and name != without]
    since, until = filters.span()
    found = [
        session
        for session in db.scalars(sa.select(Session).where(Session.deleted_at.is_(None)))
        if all(getattr(filters, name) in values(session, name, filters.under, judged) for name in chosen)
        and (not filters.failed or failed(session))
        and (not filters.rescued or rescued(session))
        and (filters.failures is None or failed(session) > filters.failures)
        and (since is None or session.happened_at >= since)
        and (until is None or session.happened_at < until)
    ]
    return sorted(found, key=lambda session: _order(session, filters.sort), reverse=True)


def failed(session: Session) -> int:
    """How many responses failed: under `json.loads` where the parser is unknown."""
    if session.home_profile != "unknown":
        return session.failed_count
    return sum(mark not in "cn" for mark in session.strip)


def rescued(session: Session) -> int:
    as_json = session.extracted_count + session.repaired_count
    return session.rescued_count if session.home_profile != "unknown" else max(session.rescued_count, as_json)


def _order(session: Session, sort: str) -> tuple[int, datetime, int]:
    counts = {"failing": failed(session) > 0, "failures": failed(session), "length": session.response_count}
    return int(counts.get(sort, 0)), session.happened_at, session.id


def judgements(db: orm.Session) -> dict[int, set[str]]:
    judged: dict[int, set[str]] = {}
    for turn_id, judgement in db.execute(sa.select(Label.turn_id, Label.judgement)):
        judged.setdefault(turn_id // TURNS_A_SESSION, set()).add(judgement)
    return judged


def check(db: orm.Session, filters: Filters) -> int:
    """Compare a page, its facets and facets with a recount; how many sessions match."""
    db.expire_all()
    expected, judged = matching(db, filters), judgements(db)
    keys: list[str] = []
    after = None
    while True:
        page = session_list.page(db, filters, after=after, limit=7)
        keys += [line.key for line in page.sessions]
        if (after := page.next) is None:
            break
    assert keys == [session.key for session in expected]
    assert page.counts is not None and page.cut == ()
    assert (page.total, page.counts.of) == (len(expected), len(matching(db, Filters())))
    for name in FACETS:
        counts: Counter[str] = Counter()
        for session in matching(db, filters, without=name):
            counts.update(values(session, name, filters.under, judged))
        facet = page.facets.get(name)
        assert facet is None or facet.more == 0
        found = {} if facet is None else {value: count for value, count in facet.values if count}
        assert found == dict(counts), name
    return len(expected)

"""The list counted by going through `session.facets` and all labels in plain Python: what SQL must say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts import BROKEN
from webapp.store.models import MODEL_KINDS, TURNS_A_SESSION, Label, Session, Turn, TurnContract
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.sessions.where import FACETS
from webapp.store.write.tally import VERDICTS

_UNDER = {"verdict": "verdicts", "strategy": "won", "repair": "repairs"}
_LISTS = {"agent": "agents", "phase": "phases", "tool": "tools", "host": "hosts"}
_COUNTS = {"error": "errors", "finding": "finding", "model": "models"}


def values(session: Session, facet: str, under: str, judged: dict[int, set[str]]) -> set[str]:
    """The values that a session has of a facet."""
    counted: dict[str, Any] = session.facets or {}
    if facet in _UNDER:
        name = session.home_profile if under == HOME else under
        as_json = name == "unknown"
        if as_json and facet != "verdict":
            return set()
        part = counted.get("profiles", {}).get("fencepost" if as_json else name, {}).get(_UNDER[facet], {})
        names = [verdict for verdict, count in zip(VERDICTS, part or (), strict=False) if count]
        names = [verdict if verdict in ("clean", "none") or not as_json else "failed" for verdict in names]
        return set(names) if facet == "verdict" else {value for value in part if value}
    if facet in _LISTS | _COUNTS:
        return set(counted.get((_LISTS | _COUNTS)[facet], ()))
    if facet == "label":
        return judged.get(session.id, set()) | {"labelled" if session.label_count else "unlabelled"}
    if facet == "contract":
        return states(session)
    if facet == "stop":
        return {stop or "not_in_this_log" for stop in _of_responses(session, Turn.stop)}
    value = {"home": session.home_profile, "service": session.service, "format": session.source_format}[facet]
    return set() if value is None else {value}


def states(session: Session) -> set[str]:
    """The states of a session's responses under their contracts."""
    found = {state or "not_declared" for state in _of_responses(session, TurnContract.state)}
    return found | ({"broken"} if found & set(BROKEN) else set())


def _of_responses(session: Session, column: Any) -> Iterable[Any]:
    db = orm.object_session(session)
    assert db is not None
    query = sa.select(column).select_from(Turn).outerjoin(TurnContract, TurnContract.turn_id == Turn.id)
    ours = (Turn.session_id == session.id, Turn.kind.in_(MODEL_KINDS), Turn.duplicate_of.is_(None))
    return db.scalars(query.where(*ours)).all()


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
        and (filters.failures is None or session.failed_count > filters.failures)
        and (since is None or session.happened_at >= since)
        and (until is None or session.happened_at < until)
    ]
    return sorted(found, key=lambda session: _order(session, filters.sort), reverse=True)


def failed(session: Session) -> int:
    """How many responses failed: under `json.loads` where the parser is unknown."""
    as_json = session.extracted_count + session.repaired_count + session.unparsed_count
    return session.failed_count if session.home_profile != "unknown" else max(session.failed_count, as_json)


def rescued(session: Session) -> int:
    as_json = session.extracted_count + session.repaired_count
    return session.rescued_count if session.home_profile != "unknown" else max(session.rescued_count, as_json)


def _order(session: Session, sort: str) -> tuple[int, datetime, int]:
    counts = {"failing": session.failed_count > 0, "failures": session.failed_count, "length": session.response_count}
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
        page = sessions.page(db, filters, after=after, limit=7)
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

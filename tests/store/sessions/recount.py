"""The list counted by going through all turns, parses and labels in plain Python: what SQL must say."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts.contract import BROKEN
from webapp.parsing import Trace
from webapp.store.models import MODEL_KINDS, TURNS_A_SESSION, Finding, Label, Parse, Session, Turn, TurnContract
from webapp.store.sessions import session_list
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.sessions.where import FACETS
from webapp.store.write.facets import kind_of, last_error, tools_of

_NAMED = ("agent", "phase", "host", "model")


class Recount:
    """All that is stored, read once and gone through in Python for each question."""

    def __init__(self, db: orm.Session) -> None:
        db.expire_all()
        self.sessions = list(db.scalars(sa.select(Session).where(Session.deleted_at.is_(None))))
        self._turns: dict[int, list[Turn]] = defaultdict(list)
        for turn in db.scalars(sa.select(Turn).where(Turn.duplicate_of.is_(None))):
            self._turns[turn.session_id].append(turn)
        self._parses: dict[tuple[int, str], list[Parse]] = defaultdict(list)
        for parse in db.scalars(sa.select(Parse)):
            self._parses[parse.turn_id // TURNS_A_SESSION, parse.profile].append(parse)
        self._findings, self._judged = defaultdict[int, set[str]](set), defaultdict[int, set[str]](set)
        for session_id, rule in db.execute(sa.select(Finding.session_id, Finding.rule)):
            self._findings[session_id].add(rule)
        for turn_id, judgement in db.execute(sa.select(Label.turn_id, Label.judgement)):
            self._judged[turn_id // TURNS_A_SESSION].add(judgement)
        states = db.execute(sa.select(TurnContract.turn_id, TurnContract.state))
        self._states = dict(states.all())
        self._known: dict[tuple[int, str, str], set[str]] = {}
        db.expunge_all()

    def values(self, session: Session, facet: str, under: str) -> set[str]:
        """The values that a session has of a facet."""
        place = (session.id, facet, under)
        if place not in self._known:
            self._known[place] = self._values(session, facet, under)
        return self._known[place]

    def _values(self, session: Session, facet: str, under: str) -> set[str]:
        turns = self._turns[session.id]
        if facet in ("verdict", "strategy", "repair"):
            return self._parsed(session, facet, session.home_profile if under == HOME else under)
        if facet in _NAMED:
            return named(turns, facet)
        if facet == "tool":
            return {name for turn in turns for name in tools_of(turn)}
        if facet == "finding":
            return self._findings[session.id]
        if facet == "error":
            return self._errors(session)
        if facet == "label":
            return self._judged[session.id] | {"labelled" if session.label_count else "unlabelled"}
        if facet == "contract":
            found = {self._states.get(turn.id) or "not_declared" for turn in turns if turn.kind in MODEL_KINDS}
            return found | ({"broken"} if found & set(BROKEN) else set())
        if facet == "stop":
            return {turn.stop or "not_in_this_log" for turn in turns if turn.kind in MODEL_KINDS}
        value = {"home": session.home_profile, "service": session.service, "format": session.source_format}[facet]
        return set() if value is None else {value}

    def _parsed(self, session: Session, facet: str, profile: str) -> set[str]:
        """Verdicts, strategies or repairs under a profile; of an unknown one the verdicts of `json.loads`."""
        found = self._parses[session.id, "fencepost" if profile == "unknown" else profile]
        if profile == "unknown":
            verdicts = {parse.verdict for parse in found} if facet == "verdict" else set()
            return {verdict if verdict in ("clean", "none") else "failed" for verdict in verdicts}
        if facet == "repair":
            return {name for parse in found for name in (parse.repairs or "").strip(",").split(",") if name}
        return {getattr(parse, facet) for parse in found} - {None}

    def _errors(self, session: Session) -> set[str]:
        failures = (turn.recorded_failure for turn in self._turns[session.id])
        recorded = {kind_of(failure) for failure in failures if failure is not None}
        traces = (Trace.from_dict(parse.trace) for parse in self._parses[session.id, session.home_profile])
        return (recorded | {last_error(trace) for trace in traces}) - {None}  # type: ignore[return-value]

    def matching(self, filters: Filters, without: str = "") -> list[Session]:
        """The sessions that the filters leave, in the list's order."""
        chosen = [name for name in FACETS if getattr(filters, name) is not None and name != without]
        since, until = filters.span()
        found = [
            session
            for session in self.sessions
            if all(getattr(filters, name) in self.values(session, name, filters.under) for name in chosen)
            and (not filters.failed or failed(session))
            and (not filters.rescued or rescued(session))
            and (filters.failures is None or failed(session) > filters.failures)
            and (since is None or session.happened_at >= since)
            and (until is None or session.happened_at < until)
        ]
        return sorted(found, key=lambda session: _order(session, filters.sort), reverse=True)

    def check(self, db: orm.Session, filters: Filters) -> int:
        """Compare a page, its facets and facets with a recount; how many sessions match."""
        expected = self.matching(filters)
        keys: list[str] = []
        after = None
        while True:
            page = session_list.page(db, filters, after=after, limit=7)
            keys += [line.key for line in page.sessions]
            if (after := page.next) is None:
                break
        assert keys == [session.key for session in expected]
        assert page.counts is not None and page.cut == ()
        assert (page.total, page.counts.of) == (len(expected), len(self.sessions))
        for name in FACETS:
            counts: Counter[str] = Counter()
            for session in self.matching(filters, without=name):
                counts.update(self.values(session, name, filters.under))
            facet = page.facets.get(name)
            assert facet is None or facet.more == 0
            found = {} if facet is None else {value: count for value, count in facet.values if count}
            assert found == dict(counts), name
        return len(expected)


def named(turns: list[Turn], facet: str) -> set[str]:
    """Who takes part: agents that are no tools, and models that wrote something."""
    skipped = ("tool_call", "tool_result") if facet == "agent" else ()
    takes = [turn for turn in turns if turn.kind not in skipped]
    if facet == "model":
        takes = [turn for turn in takes if turn.kind in MODEL_KINDS and turn.raw is not None]
    return {getattr(turn, facet) for turn in takes} - {None}


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

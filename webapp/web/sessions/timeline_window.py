"""What the page of one session shows: its head, the window of its timeline, and what a search inside it found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import orm

from webapp import findings
from webapp.parsing import words
from webapp.store import search
from webapp.store.failures import neighbours
from webapp.store.models import Finding, Session
from webapp.store.sessions import overview
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions import turns as turn_store
from webapp.web import timeline
from webapp.web.people import author

STEP = 100
"""turns a window"""
MOST_HITS = 50
_MOST_OPEN = 200


@dataclass(frozen=True, slots=True)
class TimelineQuery:
    """What the address asks for: the window's first turn, folds that are open, what to look for, and from where."""

    first: int
    opened: frozenset[int]
    all_open: bool
    q: str
    after: int | None

    def is_open(self, fold: int) -> bool:
        return self.all_open or fold in self.opened


def timeline_query(args: Any, session: Session) -> TimelineQuery:
    """Read the query string; what is no number is as if it were not there."""
    at = args.get("at", type=int)
    first = args.get("from", 0, type=int) if at is None else at
    first = max(0, min(first, session.turn_count - 1))
    opened = frozenset(int(word) for word in args.get("open", "").split("-")[:_MOST_OPEN] if _is_number(word))
    all_open = args.get("show") == "all"
    return TimelineQuery(first - first % STEP, opened, all_open, args.get("q", "").strip(), args.get("after", type=int))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 10


def window(db: orm.Session, session: Session, query: TimelineQuery, evidence: Iterable[Finding]) -> dict[str, Any]:
    lines = turn_store.timeline(db, session, first=query.first, count=STEP, viewer=author())
    before = overview.time_before(db, session, query.first) if query.first else None
    rows = timeline.rows(lines, before, _marks(evidence))
    return {
        "session": session,
        "first": query.first,
        "last": query.first + len(lines) - 1,
        "step": STEP,
        "asked": query,
        "kept": _kept(query),
        "blocks": timeline.blocks(rows, query.is_open),
        "matrices": timeline.matrices(lines),
    }


def head(db: orm.Session, session: Session, evidence: list[Finding]) -> dict[str, Any]:
    """What stands above the timeline."""
    cells, bin_size = overview.cells(db, session)
    failed_at = overview.failed_positions(db, session)
    return {
        "says": says(session, evidence),
        "findings": evidence,
        "revisions": session_store.revisions(db, session.external_id),
        "cells": cells,
        "each": bin_size,
        "failed_at": failed_at,
        "first_failed": turn_store.timeline(db, session, first=failed_at[0], count=1) if failed_at else [],
        "spent": overview.spent(db, session),
        "same_failures": neighbours.of_session(db, session.id) if session.failed_count else [],
    }


def says(session: Session, evidence: Iterable[Finding]) -> str:
    """What went wrong, in one sentence made of the findings and one that counts."""
    counts = session.response_count, session.failed_count, session.rescued_count
    sentence = findings.sentence(evidence)
    return words.session_sentence(*counts, session.home_profile, sentence, shape=session_store.shape_of(session))


def hits(db: orm.Session, session: Session, query: TimelineQuery) -> dict[str, Any]:
    """Where in the session `q` stands, at most 50 places."""
    if not query.q:
        return {"hits": [], "more_hits": None}
    result = search.find(db.connection(), query.q, session_id=session.id, after=query.after, limit=MOST_HITS)
    return {"hits": result.matches, "more_hits": result.next}


def _marks(evidence: Iterable[Finding]) -> dict[int, tuple[str, ...]]:
    """Which rules each turn is evidence of."""
    marks: dict[int, tuple[str, ...]] = {}
    for finding in evidence:
        for position in finding.turns:
            marks[position] = (*marks.get(position, ()), finding.rule)
    return marks


def _kept(query: TimelineQuery) -> dict[str, Any]:
    """What links to other windows keep of the address."""
    parameters: dict[str, Any] = {"show": "all"} if query.all_open else {}
    if query.opened:
        parameters["open"] = "-".join(map(str, sorted(query.opened)))
    return parameters

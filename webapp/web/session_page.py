"""What the page of one session shows: its head, the window of its timeline, and what a search inside it found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import orm

from webapp import findings
from webapp.store import noticing, overview, search
from webapp.store import sessions as session_store
from webapp.store import turns as turn_store
from webapp.store.models import Finding, Session
from webapp.web import timeline, words
from webapp.web.people import author

STEP = 100
"""turns a window"""
MOST_HITS = 50
_MOST_OPEN = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for: the window's first turn, folds that are open, what to look for, and from where."""

    first: int
    opened: frozenset[int]
    all_open: bool
    q: str
    after: int | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where what was looked for stands; `position` is None for the session's own id or title."""

    position: int | None
    where: str
    fragments: tuple[tuple[str, bool], ...]


def asked(args: Any, session: Session) -> Asked:
    """Read the query string; what is no number is as if it were not there."""
    at = args.get("at", type=int)
    first = args.get("from", 0, type=int) if at is None else at
    first = max(0, min(first, session.turn_count - 1))
    opened = frozenset(int(word) for word in args.get("open", "").split("-")[:_MOST_OPEN] if _is_number(word))
    all_open = args.get("show") == "all"
    return Asked(first - first % STEP, opened, all_open, args.get("q", "").strip(), args.get("after", type=int))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 10


def window(db: orm.Session, session: Session, wanted: Asked, found: Iterable[Finding]) -> dict[str, Any]:
    """One window of the timeline."""
    lines = turn_store.timeline(db, session, first=wanted.first, count=STEP, viewer=author())
    before = overview.time_before(db, session, wanted.first) if wanted.first else None
    shown = timeline.rows(lines, before, _marks(found))
    return {
        "session": session,
        "first": wanted.first,
        "last": wanted.first + len(lines) - 1,
        "step": STEP,
        "asked": wanted,
        "kept": _kept(wanted),
        "blocks": timeline.blocks(shown, wanted.opened, all_open=wanted.all_open),
        "matrices": timeline.matrices(lines),
    }


def head(db: orm.Session, session: Session, found: list[Finding]) -> dict[str, Any]:
    """What stands above the timeline."""
    cells, each = overview.cells(db, session)
    return {
        "says": says(session, found),
        "findings": found,
        "revisions": session_store.revisions(db, session.external_id),
        "cells": cells,
        "each": each,
        "failed_at": overview.failed_positions(db, session),
        "spent": overview.spent(db, session),
    }


def says(session: Session, found: Iterable[Finding]) -> str:
    """What went wrong, in one sentence made of the findings and one that counts."""
    counts = session.response_count, session.failed_count, session.rescued_count
    return words.session_sentence(*counts, session.home_profile, findings.sentence(found))


def hits(db: orm.Session, session: Session, wanted: Asked) -> dict[str, Any]:
    """Where in the session `q` stands, at most 50 places."""
    if not wanted.q:
        return {"hits": [], "more_hits": None}
    found = search.find(db.connection(), wanted.q, session_id=session.id, after=wanted.after, limit=MOST_HITS)
    at = overview.positions(db, [match.turn_id for match in found.matches if match.turn_id is not None])
    shown = [Hit(at.get(match.turn_id or -1), match.where, match.fragments) for match in found.matches]
    return {"hits": shown, "more_hits": found.next}


def of(db: orm.Session, session: Session) -> list[Finding]:
    return noticing.of(db, session.id)


def _marks(found: Iterable[Finding]) -> dict[int, tuple[str, ...]]:
    """Which rules each turn is evidence of."""
    marks: dict[int, tuple[str, ...]] = {}
    for finding in found:
        for position in finding.turns:
            marks[position] = (*marks.get(position, ()), finding.rule)
    return marks


def _kept(wanted: Asked) -> dict[str, Any]:
    """What links to other windows keep of the address."""
    kept: dict[str, Any] = {"show": "all"} if wanted.all_open else {}
    if wanted.opened:
        kept["open"] = "-".join(map(str, sorted(wanted.opened)))
    return kept
